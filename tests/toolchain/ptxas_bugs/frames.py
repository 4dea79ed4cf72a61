"""PTX around the instructions of the tests."""

STRAIGHT = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry kernel()
{
	.reg .b16 %rs<4>;
	.reg .b32 %r<5>;
	.reg .b64 %rd<4>;
	.reg .b64 %fd<4>;
	.reg .pred %p<4>;
	...
	ret;
}
"""

OF_NUMBERS = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry kernel(.param .u64 p)
{
	.reg .b16 %rs<5>;
	.reg .b32 %r<6>;
	.reg .b64 %rd<6>;
	.reg .pred %p<6>;
	ld.param.b64 %rd1, [p];
	...
	ret;
}
"""
