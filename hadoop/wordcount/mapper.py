"""A mapper for Hadoop Streaming. It writes a line word<TAB>1 for each word of standard input."""
import sys

for line in sys.stdin.buffer:
    for word in line.split():
        sys.stdout.buffer.write(word + b"\t1\n")
