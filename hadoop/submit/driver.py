# Runs a job of mrlocal on Spark. mrlocal submit --engine spark has written this file.
# Lines are bytes from end to end. RDD.pipe would pass them as text and replace what is not UTF-8.
import itertools, operator, os, re, subprocess, sys, tempfile, threading
from urllib.parse import unquote
from pyspark import AccumulatorParam, SparkFiles, TaskContext
from pyspark.sql import SparkSession, functions as F
from pyspark.sql.utils import AnalysisException

#PLAN
class Counters(AccumulatorParam):
    def zero(self, value):
        return {}

    def addInPlace(self, a, b):
        for name in b:
            a[name] = a.get(name, 0) + b[name]
        return a

def child(words, texts, read, counters, **env):
    """Passes texts to the standard input of one child. Yields what read makes of its standard output."""
    task = TaskContext.get()
    env.update(mapreduce_task_id="spark", mapreduce_task_partition=str(task.partitionId()),
               mapreduce_task_attempt_id="_%d" % task.attemptNumber())
    p = subprocess.Popen(["./" + BINARY, "stream"] + words, cwd=SparkFiles.getRootDirectory(), env=dict(os.environ, **env),
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    failures, counts, said = [], {}, [b"no reason given"]

    def feed():
        try:
            with p.stdin:
                p.stdin.writelines(texts)
        except BaseException as e:
            failures.append(e)
            if not isinstance(e, BrokenPipeError):  # the child must not take this for the end of its input
                p.kill()

    def listen():
        for line in p.stderr:
            if line.startswith(b"reporter:counter:"):
                _, name, n = line.split(b",")
                counts[name.decode()] = int(n)
            elif not line.startswith(b"reporter:"):
                said[0] = line.strip() or said[0]
                sys.stderr.buffer.write(line)  # the log of the executor

    threads = [threading.Thread(target=f, daemon=True) for f in (feed, listen)]
    for t in threads:
        t.start()
    yield from read(p.stdout)
    for t in threads:
        t.join()
    if failures and not isinstance(failures[0], BrokenPipeError):
        raise failures[0]
    if p.wait() or failures:
        raise RuntimeError("mrlocal child ended with %d: %s" % (p.returncode, said[0].decode(errors="backslashreplace")))
    counters.add(counts)

def blocks(out):
    """Yields the number of a reduce, and records for it."""
    for head in out:
        reduce, length = head.split()
        yield int(reduce), out.read(int(length))

def pieces(out):
    """Yields some lines of a result, joined, without the last newline."""
    return (b"".join(lines)[:-1] for lines in iter(lambda: out.readlines(1 << 16), []))

def mapped(words, counters):
    """Runs a child for each split. Rows are (file, start of the split, line); a split may have no line."""
    def of(rows):
        # Fields of a tuple cost less than those of a Row.
        for (file, start), split in itertools.groupby(map(tuple, rows), operator.itemgetter(0, 1)):
            env = {"mapreduce_map_input_file": named(unquote(file)), "mapreduce_map_input_start": str(start)}
            yield from child(["map"] + words, (line + b"\n" for _, _, line in split if line is not None), blocks, counters, **env)
    return of

def reduced(words, counters):
    """Runs the child of a reduce, which sorts its records."""
    return lambda records: child(["reduce"] + words, (block for _, block in records), pieces, counters)

def named(file):
    """Names a file as the user has named the input: with or without a scheme."""
    if all(i.startswith("/") for i in INPUTS):
        return re.sub("^[A-Za-z0-9+.-]+:(//[^/]*)?", "", file)
    return re.sub("^file:/+", "file:///", file)

def cut(lines, words, reduces, sc):
    """Ships a file of the keys that begin the ranges of a total order. Returns the word that names it to a child."""
    of = mapped(words + ["--reduces=1"], sc.accumulator({}, Counters()))
    sample = lines.orderBy(F.rand(0)).limit(1000 + 20 * reduces).rdd.coalesce(1)
    records = sample.mapPartitions(lambda rows: of(sorted(rows, key=lambda r: r[:2]))).collect()
    keys = sorted(re.split(b"[\0\t]", line)[0] for _, block in records for line in block[:-1].split(b"\n")) or [b""]
    with tempfile.NamedTemporaryFile(suffix=".cuts", delete=False) as f:
        f.writelines(keys[len(keys) * i // reduces] + b"\n" for i in range(1, reduces))
    sc.addFile(f.name)
    return "--cuts=" + os.path.basename(f.name)

def main():
    spark = SparkSession.builder.getOrCreate()
    sc = spark.sparkContext
    print("mrlocal: note:", sc.applicationId, sc.uiWebUrl or "", file=sys.stderr)
    reader = spark.read.option("recursiveFileLookup", "true")
    lines = reader.text(INPUTS, lineSep="\n").select(
        F.input_file_name(), F.input_file_block_start(), F.col("value").cast("binary"))
    # A file without lines has no row, but a child. So each file that may be empty, also when it is decoded, has a split
    # more. The list of sizes leaves out files without bytes.
    sizes = reader.format("binaryFile").load(INPUTS).select(F.input_file_name(), "length").where("length >= 512")
    small = sorted(set(lines.inputFiles()) - {r[0] for r in sizes.collect()})
    rows = lines.rdd.union(sc.parallelize([(file, 1, None) for file in small]))
    counters = []
    for words, reduces, cuts in STEPS:
        counters.append(sc.accumulator({}, Counters()))
        words = words + [cut(lines, words, reduces, sc)] if cuts else words
        records = rows.mapPartitions(mapped(words, counters[-1])).partitionBy(reduces, int)
        result = records.mapPartitions(reduced(words, counters[-1]))
        rows = result.mapPartitionsWithIndex(lambda i, pieces: (("part-%05d" % i, 0, p) for p in pieces))
    spark.createDataFrame(result.map(lambda p: (p,)), "value binary", verifySchema=False).select(
        F.col("value").cast("string")).write.text(OUTPUT, lineSep="\n")
    for step, counter in enumerate(counters):
        for name, n in counter.value.items():
            print("mrlocal: counter:", step, name, n, file=sys.stderr)
    spark.stop()

try:
    main()
except Exception as e:
    # The cause is an error of Python on an executor, or one of Spark.
    cause = re.search(r"\n\w+Error: (.*)", str(e)) or re.search("SparkException: (.*)", str(e)) or re.search("(.*)", str(e))
    print("mrlocal: error:", cause.group(1), file=sys.stderr)
    sys.exit(2 if isinstance(e, AnalysisException) else 3)
