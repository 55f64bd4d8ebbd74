"""Adds the counts of equal words, which come one after the other: combiner and reducer of Hadoop Streaming."""
import sys
from itertools import groupby

pairs = (line.rstrip(b"\n").split(b"\t") for line in sys.stdin.buffer)
for word, group in groupby(pairs, key=lambda pair: pair[0]):
    sys.stdout.buffer.write(b"%s\t%d\n" % (word, sum(int(count) for _, count in group)))
