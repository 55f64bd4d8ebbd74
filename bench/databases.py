#!/usr/bin/env python3
"""Does what a row of bench/peers.sh does with duckdb, polars or chdb (ClickHouse), for a comparison:

    databases.py ENGINE TASK INPUT OUTPUT [MIB]

TASK is words (count the words), field (count the first words of lines) or sort (sort the lines). Counts are lines
"COUNT KEY" in the order of the keys. INPUT is UTF-8 without the byte 1. Each engine gets two threads, and with MIB
that limit of memory, if it has one."""
import sys

engine, task, source, target = sys.argv[1:5]
mib = int(sys.argv[5]) if len(sys.argv) > 5 else 0


def duckdb():
    import duckdb

    db = duckdb.connect()
    db.execute("SET threads = 2; SET preserve_insertion_order = false; SET temp_directory = '%s.tmp'" % target)
    if mib:
        db.execute("SET memory_limit = '%dMiB'" % mib)
    db.execute("""CREATE VIEW lines AS SELECT * FROM read_csv('%s', columns = {'line': 'VARCHAR'}, delim = '\x01',
        quote = '', escape = '', header = false, auto_detect = false, null_padding = true, max_line_size = 67108864)""" % source)
    word = "unnest(string_split(translate(line, chr(9) || chr(11) || chr(12) || chr(13), '    '), ' '))" if task == "words" else "split_part(line, ' ', 1)"
    query = {
        "sort": "SELECT coalesce(line, '') AS line FROM lines ORDER BY line",
        "words": "SELECT count(*) || ' ' || w FROM (SELECT %s AS w FROM lines) WHERE w <> '' GROUP BY w ORDER BY w" % word,
        "field": "SELECT count(*) || ' ' || w FROM (SELECT coalesce(%s, '') AS w FROM lines) GROUP BY w ORDER BY w" % word,
    }[task]
    db.execute("COPY (%s) TO '%s' (FORMAT csv, HEADER false, QUOTE '', ESCAPE '', DELIMITER '\x01')" % (query, target))


def chdb():
    import chdb

    limit = ", max_memory_usage = %d, max_bytes_before_external_group_by = %d, max_bytes_before_external_sort = %d" % (
        mib << 20, mib << 19, mib << 19) if mib else ""
    word = "arrayJoin(splitByWhitespace(line))" if task == "words" else "splitByChar(' ', line)[1]"
    query = {
        "sort": "SELECT line FROM lines ORDER BY line",
        "words": "SELECT concat(toString(count()), ' ', w) FROM (SELECT %s AS w FROM lines) GROUP BY w ORDER BY w" % word,
        "field": "SELECT concat(toString(count()), ' ', w) FROM (SELECT %s AS w FROM lines) GROUP BY w ORDER BY w" % word,
    }[task].replace("FROM lines", "FROM file('%s', LineAsString)" % source)
    chdb.query("%s INTO OUTFILE '%s' FORMAT TSVRaw SETTINGS max_threads = 2%s" % (query, target, limit))


def polars():
    import os

    os.environ["POLARS_MAX_THREADS"] = "2"
    import polars as pl

    lines = pl.scan_csv(source, has_header=False, separator="\x01", quote_char=None, new_columns=["line"],
                        schema={"line": pl.String})
    line = pl.col("line").fill_null("")
    word = line.str.replace_all(r"[\t\r\v\f]", " ").str.split(" ") if task == "words" else line.str.split(" ").list.first()
    if task == "sort":
        out = lines.select(line).sort("line")
    else:
        words = lines.select(word.alias("w"))
        if task == "words":
            words = words.explode("w").filter(pl.col("w") != "")
        out = words.group_by("w").len().sort("w").select(pl.concat_str("len", "w", separator=" "))
    out.collect(engine="streaming").write_csv(target, include_header=False, separator="\x01", quote_style="never")


{"duckdb": duckdb, "chdb": chdb, "polars": polars}[engine]()
