//go:build amd64 && !safe

#include "go_asm.h"
#include "textflag.h"

// func edgesAVX2(dst []uint32, data []byte, at int, s *Bytes, last uint64) (n, next int, inRun uint64)
//
// The low and the high nibble of a byte are looked up in two tables. A byte is in
// the set if the two entries share a bit. 16 edges are written at a time, because
// a window of text mostly has fewer. Later edges overwrite those beyond the last one.
//
//	SI data   R8 end of the last whole window   R9 offset of the window
//	DI dst    R10 last place with room          R11 the run so far   R12 invert
TEXT ·edgesAVX2(SB), NOSPLIT, $0-96
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), R10
	MOVQ data_base+24(FP), SI
	MOVQ data_len+32(FP), R8
	MOVQ at+48(FP), R9
	MOVQ s+56(FP), BX
	MOVQ last+64(FP), R11
	MOVQ Bytes_invert(BX), R12
	VBROADCASTI128 Bytes_low(BX), Y10
	VBROADCASTI128 Bytes_high(BX), Y11
	MOVL $0x0f0f0f0f, AX
	MOVQ AX, X12
	VPBROADCASTD X12, Y12
	VPXOR Y13, Y13, Y13
	SUBQ $64, R8
	SUBQ $const_EdgesRoom, R10
	LEAQ (DI)(R10*4), R10

window:
	CMPQ R9, R8
	JGT  done
	CMPQ DI, R10
	JHI  done
	VMOVDQU (SI)(R9*1), Y0
	VMOVDQU 32(SI)(R9*1), Y1
	VPSHUFB Y0, Y10, Y2
	VPSHUFB Y1, Y10, Y3
	VPSRLW $4, Y0, Y0
	VPSRLW $4, Y1, Y1
	VPAND Y12, Y0, Y0
	VPAND Y12, Y1, Y1
	VPSHUFB Y0, Y11, Y0
	VPSHUFB Y1, Y11, Y1
	VPAND Y2, Y0, Y0
	VPAND Y3, Y1, Y1
	VPCMPEQB Y13, Y0, Y0
	VPCMPEQB Y13, Y1, Y1
	VPMOVMSKB Y0, AX
	VPMOVMSKB Y1, BX
	SHLQ $32, BX
	ORQ  BX, AX
	XORQ R12, AX
	LEAQ (R11)(AX*2), BX
	MOVQ AX, R11
	SHRQ $63, R11
	XORQ BX, AX
	POPCNTQ AX, CX
	TZCNTQ AX, DX
	BLSRQ  AX, AX
	ADDL   R9, DX
	MOVL   DX, 0(DI)
	TZCNTQ AX, DX
	BLSRQ  AX, AX
	ADDL   R9, DX
	MOVL   DX, 4(DI)
	TZCNTQ AX, DX
	BLSRQ  AX, AX
	ADDL   R9, DX
	MOVL   DX, 8(DI)
	TZCNTQ AX, DX
	BLSRQ  AX, AX
	ADDL   R9, DX
	MOVL   DX, 12(DI)
	TZCNTQ AX, DX
	BLSRQ  AX, AX
	ADDL   R9, DX
	MOVL   DX, 16(DI)
	TZCNTQ AX, DX
	BLSRQ  AX, AX
	ADDL   R9, DX
	MOVL   DX, 20(DI)
	TZCNTQ AX, DX
	BLSRQ  AX, AX
	ADDL   R9, DX
	MOVL   DX, 24(DI)
	TZCNTQ AX, DX
	BLSRQ  AX, AX
	ADDL   R9, DX
	MOVL   DX, 28(DI)
	TZCNTQ AX, DX
	BLSRQ  AX, AX
	ADDL   R9, DX
	MOVL   DX, 32(DI)
	TZCNTQ AX, DX
	BLSRQ  AX, AX
	ADDL   R9, DX
	MOVL   DX, 36(DI)
	TZCNTQ AX, DX
	BLSRQ  AX, AX
	ADDL   R9, DX
	MOVL   DX, 40(DI)
	TZCNTQ AX, DX
	BLSRQ  AX, AX
	ADDL   R9, DX
	MOVL   DX, 44(DI)
	TZCNTQ AX, DX
	BLSRQ  AX, AX
	ADDL   R9, DX
	MOVL   DX, 48(DI)
	TZCNTQ AX, DX
	BLSRQ  AX, AX
	ADDL   R9, DX
	MOVL   DX, 52(DI)
	TZCNTQ AX, DX
	BLSRQ  AX, AX
	ADDL   R9, DX
	MOVL   DX, 56(DI)
	TZCNTQ AX, DX
	BLSRQ  AX, AX
	ADDL   R9, DX
	MOVL   DX, 60(DI)
	CMPQ CX, $16
	JHI  many

next:
	LEAQ (DI)(CX*4), DI
	ADDQ $64, R9
	JMP  window

many:
	LEAQ 64(DI), R13

rest:
	TZCNTQ AX, DX
	BLSRQ  AX, AX
	ADDL   R9, DX
	MOVL   DX, (R13)
	ADDQ   $4, R13
	TESTQ  AX, AX
	JNZ    rest
	JMP    next

done:
	MOVQ dst_base+0(FP), AX
	SUBQ AX, DI
	SHRQ $2, DI
	MOVQ DI, n+72(FP)
	MOVQ R9, next+80(FP)
	MOVQ R11, inRun+88(FP)
	VZEROUPPER
	RET
