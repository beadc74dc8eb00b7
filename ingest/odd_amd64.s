#include "textflag.h"

// func odd32(b []byte) int
//
// Odd is a byte that is, as a signed number, below a space and no newline, which
// bytes from 0x80 on are too, or that is # or 0x7f.
TEXT ·odd32(SB), NOSPLIT, $0-32
	MOVQ b_base+0(FP), SI
	MOVQ b_len+8(FP), CX
	XORQ AX, AX
	MOVQ $0x2020202020202020, DX
	VMOVQ DX, X1
	VPBROADCASTQ X1, Y1
	MOVQ $0x0a0a0a0a0a0a0a0a, DX
	VMOVQ DX, X3
	VPBROADCASTQ X3, Y3
	MOVQ $0x2323232323232323, DX
	VMOVQ DX, X5
	VPBROADCASTQ X5, Y5
	MOVQ $0x7f7f7f7f7f7f7f7f, DX
	VMOVQ DX, X7
	VPBROADCASTQ X7, Y7

next:
	CMPQ AX, CX
	JGE end
	VMOVDQU (SI)(AX*1), Y0
	VPCMPGTB Y0, Y1, Y2
	VPCMPEQB Y0, Y3, Y4
	VPANDN Y2, Y4, Y2
	VPCMPEQB Y0, Y5, Y4
	VPOR Y4, Y2, Y2
	VPCMPEQB Y0, Y7, Y4
	VPOR Y4, Y2, Y2
	VPMOVMSKB Y2, DX
	TESTL DX, DX
	JNZ found
	ADDQ $32, AX
	JMP next

found:
	BSFL DX, DX
	ADDQ DX, AX

end:
	VZEROUPPER
	MOVQ AX, ret+24(FP)
	RET

// func avx2() bool
//
// The processor must have the instructions and the system must keep their registers.
TEXT ·avx2(SB), NOSPLIT, $0-1
	MOVB $0, ret+0(FP)
	XORL AX, AX
	XORL CX, CX
	CPUID
	CMPL AX, $7
	JLT no
	MOVL $1, AX
	XORL CX, CX
	CPUID
	ANDL $(1<<27 | 1<<28), CX // OSXSAVE, AVX
	CMPL CX, $(1<<27 | 1<<28)
	JNE no
	XORL CX, CX
	XGETBV
	ANDL $6, AX // XMM, YMM
	CMPL AX, $6
	JNE no
	MOVL $7, AX
	XORL CX, CX
	CPUID
	SHRL $5, BX // AVX2
	ANDL $1, BX
	MOVB BX, ret+0(FP)

no:
	RET
