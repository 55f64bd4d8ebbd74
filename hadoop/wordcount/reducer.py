"""A combiner and reducer for Hadoop Streaming. It adds up the counts of each word. Equal words come in a row."""
import sys
from itertools import groupby

pairs = (line.rstrip(b"\n").split(b"\t") for line in sys.stdin.buffer)
for word, group in groupby(pairs, key=lambda pair: pair[0]):
    sys.stdout.buffer.write(b"%s\t%d\n" % (word, sum(int(count) for _, count in group)))
