// Sorts the lines of a file by their bytes, with two threads: a program for this work alone, to compare with. It maps
// the file. An entry of a line has its first eight bytes. std::sort sorts two halves, and two threads merge them.
//
//   g++ -O3 -march=native -pthread sort.cc -o sort && ./sort IN OUT
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

struct Line {
	uint64_t prefix; // first eight bytes, big-endian, with zeros behind a shorter line
	const char *at;
	uint32_t len; // without the newline
};

static bool operator<(const Line &a, const Line &b) {
	if (a.prefix != b.prefix) return a.prefix < b.prefix;
	int c = memcmp(a.at, b.at, std::min(a.len, b.len));
	return c != 0 ? c < 0 : a.len < b.len;
}

static std::vector<Line> sorted(const char *from, const char *to) {
	std::vector<Line> lines;
	lines.reserve((to - from) / 24);
	while (from < to) {
		const char *end = (const char *)memchr(from, '\n', to - from);
		if (!end) end = to;
		uint64_t p = 0;
		memcpy(&p, from, std::min<size_t>(8, end - from));
		lines.push_back({__builtin_bswap64(p), from, uint32_t(end - from)});
		from = end + 1;
	}
	std::sort(lines.begin(), lines.end());
	return lines;
}

// merged merges a and b, and writes the lines to out from the given place on.
static void merged(const Line *a, const Line *an, const Line *b, const Line *bn, int out, off_t place) {
	std::vector<char> buffer(1 << 20);
	size_t used = 0;
	auto flush = [&] {
		for (size_t done = 0; done < used;) {
			ssize_t n = pwrite(out, buffer.data() + done, used - done, place);
			if (n <= 0) _exit(1);
			done += n, place += n;
		}
		used = 0;
	};
	while (a < an || b < bn) {
		const Line &l = b == bn || (a < an && !(*b < *a)) ? *a++ : *b++;
		if (used + l.len + 1 > buffer.size()) flush();
		if (l.len + 1 > buffer.size()) buffer.resize(l.len + 1);
		memcpy(buffer.data() + used, l.at, l.len);
		used += l.len;
		buffer[used++] = '\n';
	}
	flush();
}

static off_t bytes(const Line *l, const Line *end) {
	off_t n = 0;
	for (; l < end; l++) n += l->len + 1;
	return n;
}

int main(int argc, char **argv) {
	int in = open(argv[1], O_RDONLY), out = open(argv[2], O_CREAT | O_TRUNC | O_WRONLY, 0666);
	struct stat st;
	if (argc != 3 || in < 0 || out < 0 || fstat(in, &st) != 0) return 2;
	const char *data = (const char *)mmap(nullptr, st.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, in, 0);
	const char *end = data + st.st_size, *half = (const char *)memchr(data + st.st_size / 2, '\n', st.st_size / 2);
	half = half ? half + 1 : end;
	std::vector<Line> a, b;
	std::thread first([&] { a = sorted(data, half); });
	b = sorted(half, end);
	first.join();
	const Line *am = a.data() + a.size() / 2, *bm = a.empty() ? b.data() : std::lower_bound(b.data(), b.data() + b.size(), *am);
	off_t place = bytes(a.data(), am) + bytes(b.data(), bm);
	std::thread low([&] { merged(a.data(), am, b.data(), bm, out, 0); });
	merged(am, a.data() + a.size(), bm, b.data() + b.size(), out, place);
	low.join();
	_exit(0);
}
