#!/usr/bin/env python3
"""Grades a lab for Classroom 50, whose runner starts this in a checkout of the student's repository.

This file belongs into CLASSROOM/autograders/ASSIGNMENT of the classroom's repository, beside what
`make -C labs classroom50 LABS=02` puts there: the grader (labs), the number of the lab (lab), the architecture (arch).
Ubuntu's images of GitHub Actions have a C compiler with a static C library.
"""

import os
import pathlib
import subprocess
import sys

bundle = pathlib.Path(os.environ.get("CLASSROOM50_BUNDLE_DIR") or pathlib.Path(__file__).parent).resolve()
labs = bundle / "labs"
labs.chmod(0o755)
arch = (bundle / "arch").read_text().strip()
command = [labs, "grade", (bundle / "lab").read_text().strip(), pathlib.Path.cwd(), "--arch", arch, "--as", "classroom50"]
if (bundle / "points.toml").exists():
    command += ["--points", bundle / "points.toml"]
result = pathlib.Path("result.json")
result.unlink(missing_ok=True)  # the student's, if any
graded = subprocess.run(command, stdout=subprocess.PIPE, cwd=bundle)
if graded.returncode == 0:
    result.write_bytes(graded.stdout)
sys.exit(graded.returncode)
