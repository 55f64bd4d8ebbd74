//go:build amd64 && !safe

#include "textflag.h"

// Layout of a column: 32 bytes of want, 32 bytes of mask, and the offset.
#define WANT 0
#define MASK 32
#define OFFSET 64
#define COLUMN 128

// func markAVX2(hits *uint64, data *byte, words int, columns *column, n int) uint64
TEXT ·markAVX2(SB), NOSPLIT, $0-48
	MOVQ hits+0(FP), DI
	MOVQ data+8(FP), SI
	MOVQ words+16(FP), CX
	MOVQ columns+24(FP), R8
	MOVQ n+32(FP), R9
	SUBQ $2, R9
	VMOVDQU WANT(R8), Y0
	VMOVDQU MASK(R8), Y1
	MOVQ OFFSET(R8), R10
	ADDQ $COLUMN, R8
	VMOVDQU WANT(R8), Y2
	VMOVDQU MASK(R8), Y3
	MOVQ OFFSET(R8), R11
	ADDQ $COLUMN, R8
	XORQ DX, DX

	PCALIGN $32
word:
	VPOR (SI)(R10*1), Y1, Y4
	VPOR 32(SI)(R10*1), Y1, Y5
	VPOR (SI)(R11*1), Y3, Y6
	VPOR 32(SI)(R11*1), Y3, Y7
	VPCMPEQB Y0, Y4, Y4
	VPCMPEQB Y0, Y5, Y5
	VPCMPEQB Y2, Y6, Y6
	VPCMPEQB Y2, Y7, Y7
	VPAND Y4, Y6, Y4
	VPAND Y5, Y7, Y5
	VPMOVMSKB Y4, AX
	VPMOVMSKB Y5, BX
	SHLQ $32, BX
	ORQ BX, AX
	JNZ pair
next:
	MOVQ AX, (DI)
	ADDQ $64, SI
	ADDQ $8, DI
	DECQ CX
	JNZ word
	VZEROUPPER
	MOVQ DX, ret+40(FP)
	RET

	// Both bytes of the pair match at some place, so the other columns are compared.
pair:
	MOVQ R8, R12
	MOVQ R9, R13
column:
	SUBQ $1, R13
	JLT all
	MOVQ OFFSET(R12), BX
	VMOVDQU MASK(R12), Y6
	VPOR (SI)(BX*1), Y6, Y4
	VPOR 32(SI)(BX*1), Y6, Y5
	VPCMPEQB WANT(R12), Y4, Y4
	VPCMPEQB WANT(R12), Y5, Y5
	VPMOVMSKB Y4, R14
	VPMOVMSKB Y5, BX
	SHLQ $32, BX
	ORQ BX, R14
	ADDQ $COLUMN, R12
	ANDQ R14, AX
	JNZ column
	JMP next
all:
	ORQ AX, DX
	JMP next

// func markEveryAVX2(hits *uint64, data *byte, words int, columns *column, n int) uint64
TEXT ·markEveryAVX2(SB), NOSPLIT, $0-48
	MOVQ hits+0(FP), DI
	MOVQ data+8(FP), SI
	MOVQ words+16(FP), CX
	MOVQ columns+24(FP), R8
	MOVQ n+32(FP), R9
	XORQ DX, DX

	PCALIGN $32
word:
	VPCMPEQB Y0, Y0, Y0
	VMOVDQA Y0, Y1
	MOVQ R8, R12
	MOVQ R9, R13
column:
	MOVQ OFFSET(R12), BX
	VMOVDQU MASK(R12), Y2
	VMOVDQU WANT(R12), Y3
	VPOR (SI)(BX*1), Y2, Y4
	VPOR 32(SI)(BX*1), Y2, Y5
	VPCMPEQB Y3, Y4, Y4
	VPCMPEQB Y3, Y5, Y5
	VPAND Y4, Y0, Y0
	VPAND Y5, Y1, Y1
	ADDQ $COLUMN, R12
	DECQ R13
	JNZ column
	VPMOVMSKB Y0, AX
	VPMOVMSKB Y1, BX
	SHLQ $32, BX
	ORQ BX, AX
	ORQ AX, DX
	MOVQ AX, (DI)
	ADDQ $64, SI
	ADDQ $8, DI
	DECQ CX
	JNZ word
	VZEROUPPER
	MOVQ DX, ret+40(FP)
	RET

DATA nibbles<>+0(SB)/8, $0x0f0f0f0f0f0f0f0f
DATA nibbles<>+8(SB)/8, $0x0f0f0f0f0f0f0f0f
GLOBL nibbles<>(SB), RODATA|NOPTR, $16

// BUCKETS sets out to the buckets that pass low and high, for each of 32 bytes at
// addr.
#define BUCKETS(addr, low, high, out, tmp) \
	VMOVDQU addr, out          \
	VPSRLW $4, out, tmp        \
	VPAND Y6, out, out         \
	VPAND Y6, tmp, tmp         \
	VPSHUFB out, low, out      \
	VPSHUFB tmp, high, tmp     \
	VPAND tmp, out, out

// func markSetAVX2(hits *uint64, data *byte, words int, t *tables) uint64
TEXT ·markSetAVX2(SB), NOSPLIT, $0-40
	MOVQ hits+0(FP), DI
	MOVQ data+8(FP), SI
	MOVQ words+16(FP), CX
	MOVQ t+24(FP), R8
	VBROADCASTI128 0(R8), Y0
	VBROADCASTI128 16(R8), Y1
	VBROADCASTI128 32(R8), Y2
	VBROADCASTI128 48(R8), Y3
	VBROADCASTI128 64(R8), Y4
	VBROADCASTI128 80(R8), Y5
	VBROADCASTI128 nibbles<>(SB), Y6
	MOVQ 96(R8), R10
	MOVQ 104(R8), R11
	MOVQ 112(R8), R12
	VPXOR Y7, Y7, Y7
	XORQ DX, DX

	PCALIGN $32
word:
	BUCKETS((SI)(R10*1), Y0, Y3, Y8, Y9)
	BUCKETS((SI)(R11*1), Y1, Y4, Y10, Y11)
	BUCKETS((SI)(R12*1), Y2, Y5, Y12, Y13)
	VPAND Y8, Y10, Y8
	VPAND Y8, Y12, Y8
	BUCKETS(32(SI)(R10*1), Y0, Y3, Y9, Y10)
	BUCKETS(32(SI)(R11*1), Y1, Y4, Y11, Y12)
	BUCKETS(32(SI)(R12*1), Y2, Y5, Y13, Y14)
	VPAND Y9, Y11, Y9
	VPAND Y9, Y13, Y9
	VPCMPEQB Y7, Y8, Y8
	VPCMPEQB Y7, Y9, Y9
	VPMOVMSKB Y8, AX
	VPMOVMSKB Y9, BX
	SHLQ $32, BX
	ORQ BX, AX
	NOTQ AX
	ORQ AX, DX
	MOVQ AX, (DI)
	ADDQ $64, SI
	ADDQ $8, DI
	DECQ CX
	JNZ word
	VZEROUPPER
	MOVQ DX, ret+32(FP)
	RET

DATA newline<>+0(SB)/1, $0x0a
GLOBL newline<>(SB), RODATA|NOPTR, $1

// func newlinesAVX2(marks *uint64, data *byte, words int)
TEXT ·newlinesAVX2(SB), NOSPLIT, $0-24
	MOVQ marks+0(FP), DI
	MOVQ data+8(FP), SI
	MOVQ words+16(FP), CX
	VPBROADCASTB newline<>(SB), Y0

	PCALIGN $32
word:
	VPCMPEQB (SI), Y0, Y1
	VPCMPEQB 32(SI), Y0, Y2
	VPMOVMSKB Y1, AX
	VPMOVMSKB Y2, BX
	SHLQ $32, BX
	ORQ BX, AX
	MOVQ AX, (DI)
	ADDQ $64, SI
	ADDQ $8, DI
	DECQ CX
	JNZ word
	VZEROUPPER
	RET
