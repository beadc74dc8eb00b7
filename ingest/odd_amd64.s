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
