/* vendoring_macros.h - names that Qt, windows.h, X11 and Arduino define as macros. check_vendoring.sh compiles the library among
   them: a member or a variable of such a name would break it for their users. */
/* Qt */
#define signals public
#define slots
#define emit
#define foreach(a,b) for(;;)
#define forever for(;;)
#define Q_OBJECT
/* windows.h */
#define near
#define far
#define small char
#define interface struct
#define IN
#define OUT
#define OPTIONAL
#define CONST const
#define VOID void
#define ERROR 0
#define min(a,b) (((a)<(b))?(a):(b))
#define max(a,b) (((a)>(b))?(a):(b))
#define cdecl
#define DELETE (0x00010000L)
#define rad1 0x1
#define grp1 0x2
#define ABSOLUTE 1
#define RELATIVE 2
#define TRANSPARENT 1
#define OPAQUE 2
#define NO_ERROR 0
#define GetObject GetObjectA
#define DrawText DrawTextA
#define THIS_ void
#define THIS void
#define PURE =0
/* X11 */
#define None 0L
#define Bool int
#define Status int
#define True 1
#define False 0
#define Success 0
#define Always 2
#define Above 0
#define Below 1
#define Complex 0
#define Convex 2
#define Nonconvex 1
#define CursorShape 0
#define FocusIn 9
#define FocusOut 10
#define KeyPress 2
#define Unsorted 0
#define YSorted 1
/* Arduino */
#define abs(x) ((x)>0?(x):-(x))
#define round(x) ((x)>=0?(long)((x)+0.5):(long)((x)-0.5))
#define sq(x) ((x)*(x))
#define constrain(a,l,h) (a)
#define radians(d) (d)
#define degrees(d) (d)
#define bit(b) (1UL << (b))
#define bitRead(v,b) 0
#define lowByte(w) ((uint8_t)((w)&0xff))
#define highByte(w) ((uint8_t)((w)>>8))
#define PI 3.1415926535897932384626433832795
#define HALF_PI 1.57
#define TWO_PI 6.28
#define EULER 2.718
#define SERIAL 0
#define DISPLAY 1
#define HIGH 1
#define LOW 0
#define INPUT 0
#define OUTPUT 1
#define LSBFIRST 0
#define MSBFIRST 1
#define CHANGE 1
#define FALLING 2
#define RISING 3
#define DEFAULT 1
#define EXTERNAL 0
#define INTERNAL 3
#define B0 0
#define B1 1
#define B00 0
#define A0 14
#define A1 15
#define F(s) (s)
#define word(x) (x)
#define _B 1
#define _N 2
#define _S 3
#define _P 4
#define _C 5
#define _X 6
#define _U 7
#define _L 8
#define BIN 2
#define OCT 8
#define DEC 10
#define HEX 16
#define major(x) (x)
#define minor(x) (x)
#define makedev(x,y) (x)
#define check(x) (x)
#define verify(x) (x)
#define require(x) (x)
/* Kernels, firmware */
#define noinline __attribute__((__noinline__))
#define unused __attribute__((__unused__))
#define always_inline __attribute__((__always_inline__))
#define aligned __attribute__((__aligned__))
#define constructor 1
#define vector_size 16
#define may_alias 1
