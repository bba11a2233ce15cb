#!/usr/bin/env bash
# PrairieLearn runs this in the container of labs/Dockerfile for each submission: externalGradingOptions of the
# question's info.json name the image, this entrypoint, and LAB in environment. The files are in /grade/student.
set -euo pipefail
grade=${GRADE:-/grade}
points=()
if [[ -e $grade/tests/points.toml ]]; then
	points=(--points "$grade/tests/points.toml")
fi
mkdir -p "$grade/results"
labs grade "${LAB:?set LAB to the number of the lab}" "$grade/student" --as prairielearn "${points[@]}" \
	> "$grade/results/new.json"
mv "$grade/results/new.json" "$grade/results/results.json"
