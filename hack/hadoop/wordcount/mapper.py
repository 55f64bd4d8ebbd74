"""Writes a line word<TAB>1 for each word of standard input: a mapper of Hadoop Streaming."""
import sys

for line in sys.stdin.buffer:
    for word in line.split():
        sys.stdout.buffer.write(word + b"\t1\n")
