package explored

import "fiberlab/labs/grade"

func lab07() *grade.Lab {
	return lab("07", "sleeping without losing a wake-up", files("*.c", "*.h"), nil)
}
