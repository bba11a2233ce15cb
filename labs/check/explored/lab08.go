package explored

import "fiberlab/labs/grade"

func lab08() *grade.Lab { return lab("08", "stealing", files("*.c", "*.h"), nil) }
