#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Instructions of all families, as the GNU assembler encodes them.

    generate.py LIST

Each template of FAMILIES is written out with several choices of registers
and addresses, always the same ones.  LIST gets a line for each distinct
encoding: family, bytes in hexadecimal, text.  What the assembler does not
know is left out and told.

In a template: (a|b) is each of them; @N a memory operand of N bits, @0 of no
size; %b %w %d %q general registers, %m %x %y %z vector registers of legacy
and VEX forms, %X %Y %Z those of EVEX, %k masks; %Vx %Vy ... a memory operand
with an index in such a register.
"""

import os
import random
import re
import subprocess
import sys
import tempfile

WRITTEN = 7  # choices tried for each template
VARIED = 24  # the same for those of the general registers

SIZES = {"8": "byte", "16": "word", "32": "dword", "64": "qword",
         "80": "tbyte", "128": "xmmword", "256": "ymmword", "512": "zmmword"}

ADDRESSES = [
    "[rax]", "[rdi]", "[r12]", "[r13]", "[rbp]", "[rbx+8]", "[rbp-0x40]",
    "[r13+0x1234]", "[rsp+0x20]", "[rsp]", "[rsi+r9*4]", "[r11+0x40]",
    "[rsp+rcx*2+0x80]", "[r12+r14*8-0x10]", "[rdx+rdx*2]", "[rax+rbp]",
    "[r15+rsi+0x7f]", "[rip+0x100]", "[rcx*8+0x1000]", "[r10*1+0x40]",
    "[r8d+4]", "[eax+ebx*2]", "[esi-0x80]", "ds:[0x20001000]",
    "fs:[rax+0x10]", "fs:[0x28]", "gs:[r10]", "gs:[ecx+edx*4+8]",
]
REGISTERS = {
    "b": ["al", "cl", "dl", "bl", "sil", "bpl", "r9b", "r15b", "ah", "ch",
          "dh", "bh"],
    "w": ["ax", "cx", "dx", "bx", "bp", "si", "r8w", "r10w", "r14w"],
    "d": ["eax", "ecx", "edx", "ebx", "ebp", "edi", "r8d", "r11d", "r15d",
          "esp"],
    "q": ["rax", "rcx", "rdx", "rbx", "rbp", "rsi", "r8", "r12", "r15", "rsp"],
    "m": ["mm%d" % i for i in range(8)],
    "x": ["xmm%d" % i for i in range(16)],
    "y": ["ymm%d" % i for i in range(16)],
    "X": ["xmm%d" % i for i in range(32)],
    "Y": ["ymm%d" % i for i in range(32)],
    "Z": ["zmm%d" % i for i in range(32)],
    "k": ["k%d" % i for i in range(1, 8)],
}
BASES = ["rax", "rdi", "r9", "r13", "rbp", "r8d", "ebx"]

CONDITIONS = "(o|no|b|ae|e|ne|be|a|s|ns|p|np|l|ge|le|g)"
MASK = "(|{%k}|{%k}{z})"


def families():
    """(name, templates), one template a line or a semicolon."""
    yield "integer", general()
    yield "stack", STACK
    yield "string", STRING
    yield "x87", X87
    yield "mmx", MMX
    yield "sse", SSE
    yield "sse4", SSE4
    yield "crypto", CRYPTO
    yield "avx", AVX
    yield "avx2", AVX2
    yield "fma", FMA
    yield "bmi", BMI
    yield "evex moves", EVEX_MOVES
    yield "evex", EVEX
    yield "evex integer", EVEX_INTEGER
    yield "evex convert", EVEX_CONVERT
    yield "gather", GATHER
    yield "mask moves", MASK_MOVES
    yield "xsave", XSAVE
    yield "stepped", STEPPED
    yield "nothing", NOTHING


def general():
    lines = []
    for letter, bits in ("b", 8), ("w", 16), ("d", 32), ("q", 64):
        m, r = "@%d" % bits, "%" + letter
        lines += [
            f"(mov|add|or|adc|sbb|and|sub|xor|cmp|test|xchg|xadd|cmpxchg) "
            f"{m}, {r}",
            f"(mov|add|or|adc|sbb|and|sub|xor|cmp) {r}, {m}",
            f"lock (add|or|adc|sbb|and|sub|xor|xadd|cmpxchg|xchg) {m}, {r}",
            f"(xacquire|xrelease) lock (add|xor|xadd|cmpxchg) {m}, {r}",
            f"xrelease mov {m}, {r}",
            f"(inc|dec|neg|not|mul|imul|div|idiv) {m}",
            f"lock (inc|dec|neg|not) {m}",
            f"(shl|shr|sar|rol|ror|rcl|rcr) {m}, (1|3|7|cl)",
            f"(mov|add|or|adc|sbb|and|sub|xor|cmp|test) {m}, (1|0x7e)",
            f"lock (add|or|and|xor|sub) {m}, 5",
        ]
        if bits == 8:
            continue
        big = 0x1234 if bits == 16 else 0x12345678
        lines += [
            f"(mov|add|or|adc|sbb|and|sub|xor|cmp|test) {m}, {big}",
            f"imul {r}, {m}; imul {r}, {m}, 13; imul {r}, {m}, {big}",
            f"(bsf|bsr|popcnt|lzcnt|tzcnt|movbe) {r}, {m}",
            f"movbe {m}, {r}",
            f"(bt|bts|btr|btc) {m}, {r}",
            f"(bt|bts|btr|btc) {m}, (0|7|13)",
            f"lock (bts|btr|btc) {m}, {r}; lock (bts|btr|btc) {m}, 9",
            f"(shld|shrd) {m}, {r}, (1|5|cl)",
            f"cmov{CONDITIONS} {r}, {m}",
            f"(movzx|movsx) {r}, @8",
        ]
        if bits > 16:
            lines += [f"(movzx|movsx) {r}, @16", f"movnti {m}, {r}",
                      f"(adcx|adox) {r}, {m}"]
    lines += [
        f"set{CONDITIONS} @8", "movsxd %q, @32", "cmpxchg8b @64",
        "cmpxchg16b @128", "lock cmpxchg8b @64", "lock cmpxchg16b @128",
        "crc32 %d, (@8|@16|@32)", "crc32 %q, (@8|@64)",
        "movabs (al|ax|eax|rax), [0x20001008]",
        "movabs [0x20001008], (al|ax|eax|rax)",
        "movabs eax, fs:[0x20001008]; addr32 mov al, [0x20001008]",
        "movdiri @32, %d; movdiri @64, %q", "xlatb; addr32 xlatb; xlat fs:[rbx]",
    ]
    return "\n".join(lines)


STACK = """
push (@16|@64); pop (@16|@64); call @64; jmp @64
push %q; push %w; pop %q; pop %w; push 5; push 0x12345678; pushw 0x1234
pushf; popf; call %q; jmp %q
ret; ret 8; ret 0x120; leave; enter 0, 0; enter 16, 0; enter 0x200, 0
call .+0x1000; call .-0x20; data16 push 5
"""

STRING = """
(|rep |repne |addr32 |addr32 rep )(movsb|movsw|movsd|movsq)
(|rep |repne |addr32 |addr32 rep )(stosb|stosw|stosd|stosq)
(|rep |repne |addr32 |addr32 rep )(lodsb|lodsw|lodsd|lodsq)
(|repe |repne |addr32 |addr32 repe |addr32 repne )(cmpsb|cmpsw|cmpsd|cmpsq)
(|repe |repne |addr32 |addr32 repe |addr32 repne )(scasb|scasw|scasd|scasq)
(|rep )(movsb|movsw|movsd|movsq) (fs|gs):[rsi]
(|rep )(lodsb|lodsw|lodsd|lodsq) (fs|gs):[rsi]
"""

X87 = """
(fld|fst|fstp|fadd|fmul|fcom|fcomp|fsub|fsubr|fdiv|fdivr) (@32|@64)
(fld|fstp) @80; (fild|fistp|fisttp) (@16|@32|@64); fist (@16|@32)
(fiadd|fimul|ficom|ficomp|fisub|fisubr|fidiv|fidivr) (@16|@32)
fldcw @16; fnstcw @16; fnstsw @16; fldenv @0; fnstenv @0; frstor @0; fnsave @0
fbld @80; fbstp @80; data16 fldenv @0; data16 fnstenv @0; data16 fnsave @0
data16 frstor @0
"""

MMX = """
(paddb|paddw|paddd|paddq|psubb|psubw|psubd|psubq|paddsb|paddusw|psubsw) %m, @64
(pand|pandn|por|pxor|pcmpeqb|pcmpeqw|pcmpeqd|pcmpgtb|pcmpgtw|pcmpgtd) %m, @64
(pmulhw|pmullw|pmaddwd|packsswb|packssdw|packuswb|pmulhuw|pmuludq) %m, @64
(punpcklbw|punpcklwd|punpckldq) %m, @32
(punpckhbw|punpckhwd|punpckhdq|psllw|pslld|psllq|psrlw|psrad|psrlq) %m, @64
(pavgb|pminub|pmaxsw|psadbw|pshufb|phaddw|psignb|pabsd|pmulhrsw) %m, @64
movd %m, @32; movd @32, %m; movq %m, @64; movq @64, %m; movntq @64, %m
pshufw %m, @64, 27; palignr %m, @64, 5; pinsrw %m, @16, 2
cvtpi2ps %x, @64; cvtpi2pd %x, @64; (cvtps2pi|cvttps2pi) %m, @64
(cvtpd2pi|cvttpd2pi) %m, @128
"""

SSE = """
(movaps|movups|movapd|movupd|movdqa|movdqu) %x, @128
(movaps|movups|movapd|movupd|movdqa|movdqu|movntps|movntpd|movntdq) @128, %x
(lddqu|movshdup|movsldup) %x, @128; movddup %x, @64
movss %x, @32; movss @32, %x; movsd %x, @64; movsd @64, %x; movd %x, @32
movd @32, %x; movq %x, @64; movq @64, %x
(movlps|movhps|movlpd|movhpd) %x, @64; (movlps|movhps|movlpd|movhpd) @64, %x
(add|sub|mul|div|min|max|sqrt)ps %x, @128
(add|sub|mul|div|min|max|sqrt)pd %x, @128
(add|sub|mul|div|min|max|sqrt|rcp|rsqrt)ss %x, @32
(add|sub|mul|div|min|max|sqrt)sd %x, @64; (rcpps|rsqrtps) %x, @128
(andps|andnps|orps|xorps|andpd|andnpd|orpd|xorpd|unpcklps|unpckhpd) %x, @128
(addsubps|addsubpd|haddps|haddpd|hsubps|hsubpd) %x, @128
(comiss|ucomiss) %x, @32; (comisd|ucomisd) %x, @64
cmpps %x, @128, (0|2|5); cmppd %x, @128, 1; cmpss %x, @32, 6; cmpsd %x, @64, 3
shufps %x, @128, 0x1b; shufpd %x, @128, 1
(cvtsi2sd|cvtsi2ss) %x, (@32|@64); (cvtsd2si|cvttsd2si) (%d|%q), @64
(cvtss2si|cvttss2si) (%d|%q), @32; cvtss2sd %x, @32; cvtsd2ss %x, @64
cvtps2pd %x, @64; (cvtpd2ps|cvtdq2ps|cvtps2dq|cvttps2dq|cvtpd2dq) %x, @128
cvtdq2pd %x, @64; cvttpd2dq %x, @128
(paddb|paddw|paddd|paddq|psubb|psubd|paddsw|paddusb|pmullw|pmulhw) %x, @128
(pmuludq|pmaddwd|pand|pandn|por|pxor|pcmpeqb|pcmpgtd|packuswb) %x, @128
(punpcklbw|punpckhwd|punpcklqdq|punpckhqdq|psllw|pslld|psrlq|psraw) %x, @128
(pavgb|pminub|pmaxsw|psadbw|pshufb|phaddd|psignw|pabsb|pmaddubsw) %x, @128
(pshufd|pshufhw|pshuflw) %x, @128, 0x4e; palignr %x, @128, 5
pinsrw %x, @16, 3; ldmxcsr @32; stmxcsr @32; (fxsave|fxrstor) @0
(fxsave64|fxrstor64) @0
"""

SSE4 = """
(blendvps|blendvpd|pblendvb) %x, @128; (blendps|blendpd|pblendw) %x, @128, 5
(ptest|pcmpeqq|pcmpgtq|pmulld|pmuldq|packusdw|phminposuw|movntdqa) %x, @128
(pminsb|pmaxsb|pminuw|pmaxuw|pminsd|pmaxsd|pminud|pmaxud) %x, @128
(dpps|dppd|mpsadbw|roundps|roundpd) %x, @128, 2; roundss %x, @32, 1
roundsd %x, @64, 3; insertps %x, @32, 0x1e; extractps @32, %x, 2
pinsrb %x, @8, 7; pinsrd %x, @32, 1; pinsrq %x, @64, 1
pextrb @8, %x, 9; pextrw @16, %x, 6; pextrd @32, %x, 3; pextrq @64, %x, 1
(pmovzxbw|pmovsxbw|pmovzxwd|pmovsxwd|pmovzxdq|pmovsxdq) %x, @64
(pmovzxbd|pmovsxbd|pmovzxwq|pmovsxwq) %x, @32; (pmovzxbq|pmovsxbq) %x, @16
(pcmpistri|pcmpistrm|pcmpestri|pcmpestrm) %x, @128, (0x1a|0x40|0x0c)
"""

CRYPTO = """
(aesenc|aesenclast|aesdec|aesdeclast|aesimc) %x, @128
aeskeygenassist %x, @128, 3; pclmulqdq %x, @128, (0|0x11)
(sha1msg1|sha1msg2|sha1nexte|sha256msg1|sha256msg2|sha256rnds2) %x, @128
sha1rnds4 %x, @128, 2; gf2p8mulb %x, @128
(gf2p8affineqb|gf2p8affineinvqb) %x, @128, 7
(vaesenc|vaesenclast|vaesdec|vaesdeclast) %x, %x, @128; vaesimc %x, @128
(vaesenc|vaesdec) %y, %y, @256; (vaesenc|vaesdeclast) %Z, %Z, @512
vpclmulqdq %x, %x, @128, 1; vpclmulqdq %y, %y, @256, 16
vpclmulqdq %Z, %Z, @512, 17; vgf2p8mulb %y, %y, @256
vgf2p8affineqb %x, %x, @128, 3; vgf2p8affineinvqb %y, %y, @256, 3
""" + f"""
vgf2p8mulb %Z{MASK}, %Z, @512; vgf2p8affineqb %Z{MASK}, %Z, @512, 3
vgf2p8affineinvqb %Y{MASK}, %Y, @64{{1to4}}, 3
"""

AVX = """
(vmovaps|vmovups|vmovapd|vmovupd|vmovdqa|vmovdqu) %x, @128
(vmovaps|vmovups|vmovapd|vmovupd|vmovdqa|vmovdqu) %y, @256
(vmovaps|vmovups|vmovdqa|vmovdqu|vmovntps|vmovntdq) @128, %x
(vmovaps|vmovups|vmovupd|vmovdqa|vmovdqu|vmovntpd|vmovntdq) @256, %y
vmovss %x, @32; vmovss @32, %x; vmovsd %x, @64; vmovsd @64, %x
vmovd %x, @32; vmovd @32, %x; vmovq %x, @64; vmovq @64, %x
(vmovlps|vmovhps|vmovlpd|vmovhpd) %x, %x, @64; (vmovlps|vmovhpd) @64, %x
vmovddup %x, @64; vmovddup %y, @256; (vmovshdup|vmovsldup|vlddqu) %y, @256
(vadd|vsub|vmul|vdiv|vmin|vmax)ps %x, %x, @128
(vadd|vsub|vmul|vdiv|vmin|vmax)pd %y, %y, @256
(vadd|vsub|vmul|vdiv|vmin|vmax|vsqrt)ss %x, %x, @32
(vadd|vsub|vmul|vdiv|vmin|vmax|vsqrt)sd %x, %x, @64
(vsqrtps|vrcpps|vrsqrtps|vsqrtpd) %y, @256
(vandps|vandnpd|vorps|vxorpd|vunpcklps|vunpckhpd|vaddsubps) %y, %y, @256
(vhaddps|vhsubpd) %y, %y, @256; (vcomiss|vucomiss) %x, @32
(vcomisd|vucomisd) %x, @64; vcmpps %y, %y, @256, (0|13|30)
vcmpsd %x, %x, @64, 4; vshufps %y, %y, @256, 0x1b
(vcvtsi2sd|vcvtsi2ss) %x, %x, (@32|@64); (vcvtsd2si|vcvttsd2si) (%d|%q), @64
(vcvtss2si|vcvttss2si) (%d|%q), @32; vcvtps2pd %y, @128; vcvtpd2ps %x, @256
vcvtdq2pd %y, @128; (vcvtdq2ps|vcvtps2dq|vcvttps2dq) %y, @256
(vcvtpd2dq|vcvttpd2dq) %x, @256; vbroadcastss (%x|%y), @32
vbroadcastsd %y, @64; vbroadcastf128 %y, @128; vinsertf128 %y, %y, @128, 1
vextractf128 @128, %y, (0|1); (vpermilps|vpermilpd) %y, %y, @256
(vpermilps|vpermilpd) %y, @256, 5; vperm2f128 %y, %y, @256, 0x21
(vtestps|vtestpd|vptest) %y, @256; (vblendps|vdpps) %y, %y, @256, 0x55
(vblendvps|vblendvpd) %y, %y, @256, %y; (vroundps|vroundpd) %y, @256, 2
vroundss %x, %x, @32, 1; vinsertps %x, %x, @32, 0x1e; vextractps @32, %x, 1
vpinsrb %x, %x, @8, 3; vpinsrw %x, %x, @16, 3; vpinsrd %x, %x, @32, 1
vpinsrq %x, %x, @64, 1; vpextrb @8, %x, 3; vpextrw @16, %x, 3
vpextrd @32, %x, 3; vpextrq @64, %x, 1
(vpaddd|vpsubb|vpmullw|vpcmpeqb|vpxor|vpshufb|vpsllw|vpsrad) %x, %x, @128
(vpcmpistri|vpcmpestrm) %x, @128, 0x1a; vldmxcsr @32; vstmxcsr @32
vcvtph2ps %x, @64; vcvtph2ps %y, @128; vcvtps2ph @64, %x, 0
vcvtps2ph @128, %y, 3; vmovntdqa %x, @128
"""

AVX2 = """
(vpaddb|vpaddw|vpaddd|vpaddq|vpsubb|vpsubd|vpaddsw|vpaddusb) %y, %y, @256
(vpmullw|vpmulld|vpmulhw|vpmuludq|vpmuldq|vpmaddwd|vpmaddubsw) %y, %y, @256
(vpand|vpandn|vpor|vpxor|vpcmpeqb|vpcmpeqq|vpcmpgtd|vpcmpgtq) %y, %y, @256
(vpackuswb|vpackssdw|vpunpcklbw|vpunpckhdq|vpunpcklqdq) %y, %y, @256
(vpavgb|vpminub|vpmaxsd|vpsadbw|vpshufb|vphaddw|vpsignd) %y, %y, @256
(vpsllw|vpslld|vpsrlq|vpsraw) %y, %y, @128
(vpsllvd|vpsllvq|vpsrlvd|vpsrlvq|vpsravd|vpermd|vpermps) %y, %y, @256
(vpermq|vpermpd|vpshufd|vpshufhw) %y, @256, 0x4e
(vperm2i128|vpblendd|vpblendw|vmpsadbw|vpalignr) %y, %y, @256, 0x21
vpblendvb %y, %y, @256, %y; (vpabsb|vpabsd) %y, @256
vpbroadcastb (%x|%y), @8; vpbroadcastw (%x|%y), @16; vpbroadcastd (%x|%y), @32
vpbroadcastq (%x|%y), @64; vbroadcasti128 %y, @128
vinserti128 %y, %y, @128, 1; vextracti128 @128, %y, (0|1); vmovntdqa %y, @256
(vpmovzxbw|vpmovsxwd|vpmovzxdq) %y, @128; (vpmovzxbd|vpmovsxwq) %y, @64
vpmovsxbq %y, @32; (vpmovsxbw|vpmovzxwd) %x, @64; vpmovzxbq %x, @16
({vex} vpdpbusd|{vex} vpdpwssds) %y, %y, @256
"""

FMA = """
(vfmadd|vfmsub|vfnmadd|vfnmsub)(132|213|231)ps %x, %x, @128
(vfmadd|vfmsub|vfnmadd|vfnmsub)(132|213|231)pd %y, %y, @256
(vfmadd|vfmsub|vfnmadd|vfnmsub)(132|213|231)ss %x, %x, @32
(vfmadd|vfmsub|vfnmadd|vfnmsub)(132|213|231)sd %x, %x, @64
(vfmaddsub|vfmsubadd)(132|213|231)ps %y, %y, @256
(vfmaddsub|vfmsubadd)(132|213|231)pd %x, %x, @128
""" + f"""
(vfmadd|vfnmsub|vfmaddsub)(132|213|231)ps %Z{MASK}, %Z, (@512|@32{{1to16}})
(vfmsub|vfnmadd)(132|213|231)pd %Y{MASK}, %Y, (@256|@64{{1to4}})
(vfmadd|vfnmsub)(132|213|231)ss %X{MASK}, %X, @32
(vfmsub|vfnmadd)(132|213|231)sd %X{MASK}, %X, @64
"""

BMI = """
andn %d, %d, @32; andn %q, %q, @64; (blsi|blsr|blsmsk) %d, @32
(blsi|blsr|blsmsk) %q, @64; (bextr|bzhi|sarx|shlx|shrx) %d, @32, %d
(bextr|bzhi|sarx|shlx|shrx) %q, @64, %q; (mulx|pdep|pext) %d, %d, @32
(mulx|pdep|pext) %q, %q, @64; rorx %d, @32, 7; rorx %q, @64, 33
"""

EVEX_MOVES = f"""
(vmovaps|vmovups|vmovapd|vmovupd|vmovdqa32|vmovdqu32|vmovdqa64|vmovdqu64) \
%Z{MASK}, @512
(vmovups|vmovdqa32|vmovdqu8|vmovdqu16|vmovdqu64) %Y{MASK}, @256
(vmovups|vmovapd|vmovdqu8|vmovdqu16|vmovdqu32) %X{MASK}, @128
(vmovaps|vmovups|vmovupd|vmovdqa32|vmovdqu32|vmovdqu64|vmovdqu8|vmovdqu16) \
@512(|{{%k}}), %Z
(vmovups|vmovdqa64|vmovdqu8|vmovdqu16) @256(|{{%k}}), %Y
(vmovups|vmovdqu8|vmovdqu32) @128(|{{%k}}), %X
vmovss %X{MASK}, @32; vmovsd %X{MASK}, @64; vmovss @32(|{{%k}}), %X
vmovsd @64(|{{%k}}), %X; (vmovntps|vmovntdq|vmovntpd) @512, %Z
vmovntdqa %Z, @512; vmovd %X, @32; vmovq %X, @64; vmovd @32, %X; vmovq @64, %X
(vmovlps|vmovhpd) %X, %X, @64; (vmovhps|vmovlpd) @64, %X
(vmovshdup|vmovsldup|vmovddup) %Z{MASK}, @512
(vpcompressd|vpcompressq|vcompressps|vcompresspd|vpcompressb|vpcompressw) \
@512(|{{%k}}), %Z
(vpcompressd|vcompresspd|vpcompressb) @256{{%k}}, %Y
(vpexpandd|vpexpandq|vexpandps|vexpandpd|vpexpandb|vpexpandw) %Z{MASK}, @512
(vpexpandd|vpexpandw) %X{MASK}, @128
vbroadcastss (%X|%Y|%Z){MASK}, @32; vbroadcastsd (%Y|%Z){MASK}, @64
vpbroadcastb (%X|%Z){MASK}, @8; vpbroadcastw (%Y|%Z){MASK}, @16
vpbroadcastd %Z{MASK}, @32; vpbroadcastq %Z{MASK}, @64
(vbroadcastf32x2|vbroadcasti32x2) %Z{MASK}, @64
(vbroadcastf32x4|vbroadcasti32x4|vbroadcastf64x2) %Z{MASK}, @128
(vbroadcastf64x4|vbroadcasti64x4|vbroadcasti32x8) %Z{MASK}, @256
(vinsertf32x4|vinserti64x2) %Z{MASK}, %Z, @128, 3
(vinserti64x4|vinsertf32x8) %Z{MASK}, %Z, @256, 1
(vextractf32x4|vextracti64x2) @128, %Z, 2
(vextracti64x4|vextractf32x8) @256, %Z, 1
vpinsrb %X, %X, @8, 5; vpinsrd %X, %X, @32, 2; vpextrw @16, %X, 4
vpextrq @64, %X, 1; vinsertps %X, %X, @32, 0x1e; vextractps @32, %X, 2
"""

EVEX = f"""
(vadd|vsub|vmul|vdiv|vmin|vmax)ps %Z{MASK}, %Z, (@512|@32{{1to16}})
(vadd|vsub|vmul|vdiv|vmin|vmax)pd %Y{MASK}, %Y, (@256|@64{{1to4}})
(vadd|vmul|vmax|vsqrt)ss %X{MASK}, %X, @32
(vsub|vdiv|vmin|vsqrt)sd %X{MASK}, %X, @64
(vsqrtps|vrcp14ps|vrsqrt14ps|vgetexpps) %Z{MASK}, (@512|@32{{1to16}})
(vsqrtpd|vrcp14pd|vrsqrt14pd|vgetexppd) %Y{MASK}, (@256|@64{{1to4}})
(vandps|vandnps|vorps|vxorps|vunpcklps|vunpckhps) %Z{MASK}, %Z, \
(@512|@32{{1to16}})
(vscalefps|vblendmps|vpermilps|vpermps) %Z{MASK}, %Z, (@512|@32{{1to16}})
(vscalefpd|vblendmpd|vpermilpd|vpermpd) %Y{MASK}, %Y, (@256|@64{{1to4}})
(vpermt2ps|vpermi2ps) %Z{MASK}, %Z, @512; vpermt2pd %X{MASK}, %X, @128
(vrcp14ss|vrsqrt14ss|vgetexpss|vscalefss) %X{MASK}, %X, @32
(vrcp14sd|vgetexpsd|vscalefsd) %X{MASK}, %X, @64
(vrndscaleps|vreduceps|vgetmantps) %Z{MASK}, (@512|@32{{1to16}}), 2
(vrndscalepd|vreducepd|vgetmantpd) %X{MASK}, (@128|@64{{1to2}}), 1
(vrangeps|vfixupimmps|vshufps) %Z{MASK}, %Z, (@512|@32{{1to16}}), 3
(vrangepd|vfixupimmpd|vshufpd) %Y{MASK}, %Y, (@256|@64{{1to4}}), 1
(vrndscaless|vrangess|vfixupimmss|vreducess) %X{MASK}, %X, @32, 2
vcmpps %k(|{{%k}}), %Z, (@512|@32{{1to16}}), (2|29)
vcmppd %k(|{{%k}}), %Y, (@256|@64{{1to4}}), 14; vcmpss %k(|{{%k}}), %X, @32, 1
vcmpsd %k(|{{%k}}), %X, @64, 6; vfpclassps %k(|{{%k}}), (@512|@32{{1to16}}), 7
vfpclasssd %k(|{{%k}}), @64, 0x99; (vucomiss|vcomiss) %X, @32; vucomisd %X, @64
(vshuff32x4|vshuff64x2) %Z{MASK}, %Z, @512, 0x4e
(vpermilps|vpermpd) %Z{MASK}, @512, 0x1b
"""

EVEX_INTEGER = f"""
(vpaddd|vpsubd|vpmulld|vpminsd|vpmaxud|vpandd|vpandnd|vpord|vpxord) \
%Z{MASK}, %Z, (@512|@32{{1to16}})
(vpaddq|vpsubq|vpmullq|vpminsq|vpmaxuq|vpandq|vporq|vpxorq|vpmuludq) \
%Y{MASK}, %Y, (@256|@64{{1to4}})
(vpaddb|vpaddusw|vpsubw|vpmullw|vpavgb|vpminub|vpmaxsw|vpshufb) \
%Z{MASK}, %Z, @512
(vpmaddwd|vpmaddubsw|vpmulhrsw|vpunpcklbw|vpunpckhwd|vpackuswb) \
%Z{MASK}, %Z, @512
(vpackssdw|vpunpckldq|vpermd|vpblendmd|vpermt2d|vpermi2d) \
%Z{MASK}, %Z, (@512|@32{{1to16}})
(vpunpckhqdq|vpermq|vpblendmq|vpermt2q|vpermi2q) %Z{MASK}, %Z, (@512|@64{{1to8}})
(vpblendmb|vpblendmw|vpermb|vpermw|vpermt2b|vpermi2w) %Y{MASK}, %Y, @256
(vpsllvd|vpsrlvd|vpsravd|vprolvd|vprorvd) %Z{MASK}, %Z, (@512|@32{{1to16}})
(vpsllvq|vpsravq|vprorvq) %X{MASK}, %X, (@128|@64{{1to2}})
(vpsllvw|vpsravw) %Z{MASK}, %Z, @512
(vpsllw|vpslld|vpsllq|vpsrad|vpsraq) %Z{MASK}, %Z, @128
(vpslld|vpsrad|vprold|vprord|vpshufd) %Z{MASK}, (@512|@32{{1to16}}), 5
(vpsrlq|vpsraq|vprolq) %Y{MASK}, (@256|@64{{1to4}}), 9
(vpsllw|vpshufhw|vpshuflw) %Z{MASK}, @512, 3; (vpslldq|vpsrldq) %Z, @512, 5
(vpternlogd|valignd|vpshldd|vpshrdd) %Z{MASK}, %Z, (@512|@32{{1to16}}), 6
(vpternlogq|valignq|vpshldq) %Y{MASK}, %Y, (@256|@64{{1to4}}), 2
(vpalignr|vdbpsadbw|vpshldw|vpshrdw) %Z{MASK}, %Z, @512, 7
(vpshldvd|vpshrdvd) %Z{MASK}, %Z, (@512|@32{{1to16}})
vpshldvq %Z{MASK}, %Z, (@512|@64{{1to8}}); vpshrdvw %Z{MASK}, %Z, @512
(vpcmpd|vpcmpud) %k(|{{%k}}), %Z, (@512|@32{{1to16}}), (1|4)
(vpcmpq|vpcmpuq) %k(|{{%k}}), %Y, (@256|@64{{1to4}}), 5
(vpcmpb|vpcmpub|vpcmpw) %k(|{{%k}}), %Z, @512, (0|6)
(vpcmpeqb|vpcmpgtw|vptestmb|vptestnmw|vpshufbitqmb) %k(|{{%k}}), %Z, @512
(vpcmpeqd|vpcmpgtd|vptestmd|vptestnmd) %k(|{{%k}}), %Z, (@512|@32{{1to16}})
(vptestmq|vpcmpeqq) %k(|{{%k}}), %X, (@128|@64{{1to2}})
(vpabsd|vpopcntd|vplzcntd|vpconflictd) %Z{MASK}, (@512|@32{{1to16}})
(vpabsq|vpopcntq|vplzcntq|vpconflictq) %Y{MASK}, (@256|@64{{1to4}})
(vpabsb|vpabsw|vpopcntb|vpopcntw) %Z{MASK}, @512
(vpmadd52luq|vpmadd52huq|vpmultishiftqb) %Z{MASK}, %Z, (@512|@64{{1to8}})
(vpdpbusd|vpdpbusds|vpdpwssd|vpdpwssds) %Z{MASK}, %Z, (@512|@32{{1to16}})
(vshufi32x4|vshufi64x2) %Z{MASK}, %Z, @512, 0x4e; vpsadbw %Z, %Z, @512
vpermq %Z{MASK}, @512, 0x1b; (vp2intersectd|vp2intersectq) %k, %Z, @512
"""

EVEX_CONVERT = f"""
(vcvtdq2ps|vcvtps2dq|vcvttps2dq|vcvtudq2ps|vcvtps2udq|vcvttps2udq) \
%Z{MASK}, (@512|@32{{1to16}})
(vcvtqq2pd|vcvtuqq2pd|vcvtpd2qq|vcvttpd2uqq) %Z{MASK}, (@512|@64{{1to8}})
(vcvtpd2ps|vcvtpd2dq|vcvttpd2udq|vcvtqq2ps) %Y{MASK}, (@512|@64{{1to8}})
(vcvtps2pd|vcvtdq2pd|vcvtudq2pd|vcvtps2qq|vcvttps2uqq) \
%Z{MASK}, (@256|@32{{1to8}})
(vcvtps2pd|vcvtdq2pd|vcvttps2qq) %X{MASK}, (@64|@32{{1to2}})
vcvtph2ps %Z{MASK}, @256; vcvtph2ps %X{MASK}, @64
vcvtps2ph @256(|{{%k}}), %Z, 0; vcvtps2ph @64(|{{%k}}), %X, 2
vcvtsd2ss %X{MASK}, %X, @64; vcvtss2sd %X{MASK}, %X, @32
(vcvtsi2sd|vcvtusi2sd|vcvtusi2ss) %X, %X, (@32|@64)
(vcvtsd2si|vcvtsd2usi|vcvttsd2usi) (%d|%q), @64
(vcvtss2si|vcvtss2usi|vcvttss2usi) (%d|%q), @32
(vpmovzxbw|vpmovsxwd|vpmovzxdq) %Z{MASK}, @256; vpmovzxbd %Z{MASK}, @128
vpmovsxwq %Z{MASK}, @128; vpmovzxbq %Z{MASK}, @64; vpmovsxbw %X{MASK}, @64
(vpmovwb|vpmovdw|vpmovqd|vpmovswb|vpmovusdw|vpmovsqd) @256(|{{%k}}), %Z
(vpmovdb|vpmovqw|vpmovsdb|vpmovusqw) @128(|{{%k}}), %Z
(vpmovqb|vpmovusqb) @64(|{{%k}}), %Z; (vpmovwb|vpmovdw) @64(|{{%k}}), %X
vpmovdb @32(|{{%k}}), %X; vpmovsqb @16(|{{%k}}), %X
vcvtneps2bf16 %Y{MASK}, (@512|@32{{1to16}})
(vcvtne2ps2bf16|vdpbf16ps) %Z{MASK}, %Z, (@512|@32{{1to16}})
"""

GATHER = """
(vpgatherdd|vgatherdps) xmm1, %Vx, xmm2; (vpgatherdd|vgatherdps) ymm9, %Vy, ymm0
(vpgatherdq|vgatherdpd) xmm1, %Vx, xmm2; (vpgatherdq|vgatherdpd) ymm0, %Vx, ymm8
(vpgatherqd|vgatherqps) xmm1, %Vx, xmm2; (vpgatherqd|vgatherqps) xmm0, %Vy, xmm2
(vpgatherqq|vgatherqpd) xmm1, %Vx, xmm2; (vpgatherqq|vgatherqpd) ymm1, %Vy, ymm2
(vpgatherdd|vgatherdps) (xmm1|xmm17){%k}, %VX; vpgatherdd ymm0{%k}, %VY
(vpgatherdd|vgatherdps) (zmm0|zmm18){%k}, %VZ
(vpgatherdq|vgatherdpd) xmm1{%k}, %VX; vpgatherdq ymm16{%k}, %VX
(vpgatherdq|vgatherdpd) (zmm1|zmm20){%k}, %VY
(vpgatherqd|vgatherqps) xmm1{%k}, (%VX|%VY); vgatherqps (ymm1|ymm19){%k}, %VZ
(vpgatherqq|vgatherqpd) xmm1{%k}, %VX; vpgatherqq ymm0{%k}, %VY
(vpgatherqq|vgatherqpd) (zmm0|zmm16){%k}, %VZ
(vpscatterdd|vscatterdps) %VX{%k}, %X; vpscatterdd %VY{%k}, %Y
(vpscatterdd|vscatterdps) %VZ{%k}, %Z
(vpscatterdq|vscatterdpd) %VX{%k}, (%X|%Y); vscatterdpd %VY{%k}, %Z
(vpscatterqd|vscatterqps) %VY{%k}, %X; vpscatterqd %VZ{%k}, %Y
(vpscatterqq|vscatterqpd) %VX{%k}, %X; (vpscatterqq|vscatterqpd) %VZ{%k}, %Z
"""

MASK_MOVES = """
(vmaskmovps|vmaskmovpd|vpmaskmovd|vpmaskmovq) %x, %x, @128
(vmaskmovps|vmaskmovpd|vpmaskmovd|vpmaskmovq) %y, %y, @256
(vmaskmovps|vmaskmovpd|vpmaskmovd|vpmaskmovq) @128, %x, %x
(vmaskmovps|vmaskmovpd|vpmaskmovd|vpmaskmovq) @256, %y, %y
maskmovq %m, %m; maskmovdqu %x, %x; vmaskmovdqu %x, %x; addr32 maskmovq %m, %m
addr32 maskmovdqu %x, %x; fs maskmovdqu %x, %x; gs vmaskmovdqu %x, %x
kmovb %k, @8; kmovb @8, %k; kmovw %k, @16; kmovw @16, %k; kmovd %k, @32
kmovd @32, %k; kmovq %k, @64; kmovq @64, %k
"""

XSAVE = """
(xsave|xsave64|xsavec|xsavec64|xsaveopt|xsaveopt64|xrstor|xrstor64) @0
"""

STEPPED = """
(clflush|clflushopt|clwb) @8; clzero; movdir64b (rax|rsi|r9), [rdi+8]; movdir64b r12, [rbp+r9*2]
movdir64b ecx, [r8d]; movdir64b rdx, fs:[rbx]
mov @16, (fs|gs|ds|es|ss|cs); (lar|lsl) %d, @16; (verr|verw) @16
push fs; push gs
vextracti32x4 @128{%k}, %Z, 3; vextractf64x4 @256{%k}, %Z, 1
vextracti64x2 @128{%k}, %Y, 1; vextractf32x8 @256{%k}, %Z, 0
"""

NOTHING = """
lea (%w|%d|%q), @0; nop @16; nop @32
(prefetcht0|prefetcht1|prefetcht2|prefetchnta|prefetchw) @8
"""


def alternatives(template):
    """Each of its (a|b) written out."""
    match = re.search(r"\(([^()]*)\)", template)
    if not match:
        return [template]
    return [text for choice in match.group(1).split("|")
            for text in alternatives(template[:match.start()] + choice +
                                     template[match.end():])]


def choose(template, rng):
    """One choice of registers and addresses."""
    def indexed(match):
        base, scale = rng.choice(BASES), rng.choice("1248")
        index = {"x": "xmm", "y": "ymm", "z": "zmm"}[match.group(1).lower()]
        number = rng.choice([3, 5, 12, 15])
        if match.group(1).isupper():
            number = rng.choice([3, 6, 12, 21, 30])
        return "[%s+%s%d*%s%+d]" % (base, index, number, scale,
                                    rng.choice([0, 8, 64, -256, 4096]))

    def memory(match):
        address = rng.choice(ADDRESSES)
        size = SIZES.get(match.group(1))
        return f"{size} ptr {address}" if size else address

    text = re.sub(r"%V(\w)", indexed, template)
    text = re.sub(r"@(\d+)", memory, text)
    return re.sub(r"%([bwdqmxyXYZk])",
                  lambda m: rng.choice(REGISTERS[m.group(1)]), text)


def usable(text):
    """A high byte register excludes REX; a bit index is no address."""
    if re.search(r"\b[abcd]h\b", text) and \
       re.search(r"\br\d|\b(si|di|bp|sp)l\b", text):
        return False
    match = re.search(r"\bbt[srct]? .*\[(.*)\], ([a-z]\w+)$", text)
    if match:
        name = match.group(2)
        tail = name.rstrip("dw") if name[1].isdigit() else name[-2:]
        return tail not in match.group(1)
    # The register that says what is saved.
    if text[:2] in ("xs", "xr") and re.search("[re]ax", text):
        return False
    # A second destination, or a mask that is loaded, must be another one.
    words = re.match(r"(mulx) (\w+), (\w+)", text)
    return not words or words.group(2) != words.group(3)


def instructions():
    rng = random.Random(1)
    for family, text in families():
        times = VARIED if family in ("integer", "gather", "xsave") else WRITTEN
        for template in re.split("[;\n]", text):
            if not template.strip():
                continue
            for one in alternatives(template.strip()):
                for written in {choose(one, rng): 0 for _ in range(times)}:
                    if usable(written):
                        yield family, written


def assemble(texts, folder):
    """For each text its bytes, or None if the assembler rejects it."""
    source = os.path.join(folder, "corpus.s")
    output = os.path.join(folder, "corpus.o")
    bad = set()
    while True:
        with open(source, "w", encoding="utf-8") as file:
            file.write(".intel_syntax noprefix\n")
            for i, text in enumerate(texts):
                file.write(("" if i in bad else
                            f"0: {text}; 1: .pushsection .lengths, \"a\"; "
                            f".byte 1b-0b; .popsection") + "\n")
        done = subprocess.run(["as", "-o", output, source], check=False,
                              stderr=subprocess.PIPE, encoding="utf-8")
        if done.returncode == 0:
            break
        lines = re.findall(r"corpus\.s:(\d+): Error", done.stderr)
        if not lines:
            sys.exit(done.stderr)
        bad |= {int(line) - 2 for line in lines}

    def section(name):
        path = os.path.join(folder, "section")
        subprocess.run(["objcopy", "-O", "binary", "-j", name, output, path],
                       check=True)
        with open(path, "rb") as file:
            return file.read()

    code, lengths = section(".text"), iter(section(".lengths"))
    result, at = [], 0
    for i in range(len(texts)):
        length = 0 if i in bad else next(lengths)
        result.append(code[at:at + length] or None)
        at += length
    return result


def main(path):
    listed = list(instructions())
    with tempfile.TemporaryDirectory(prefix="cls-corpus-") as folder:
        encoded = assemble([text for _, text in listed], folder)
    seen, rejected = set(), []
    with open(path, "w", encoding="utf-8") as file:
        for (family, text), code in zip(listed, encoded):
            if code is None:
                rejected.append(text)
            elif code not in seen:
                seen.add(code)
                file.write(f"{family}\t{code.hex()}\t{text}\n")
    for text in rejected:
        print(f"not known to the assembler: {text}", file=sys.stderr)
    print(f"{len(seen)} encodings, {len(rejected)} not known to the assembler",
          file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1])
