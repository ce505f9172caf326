/* exchange.h - what the WARP items of a signal do together: for omp_warp.cl.

   SYNC()                     what an item wrote to local memory, all of them read after it
   LARGEST(x, room)           the largest of all items' x, which are never negative; every item gets it
   smallest_of(x, room)       the smallest of all items' x, a uint
   FROM_LANE(x, lane, room)   item lane's x

   `room` has a place for each item, of type ROOM_REAL (for smallest_of: uint). The results are one item's values, to the bit, so
   all three ways give the same: PTX (SHUFFLES), sub-groups (SUB_GROUPS), and local memory. With sub-groups and local memory a
   group is one warp, so that barriers synchronise the warp. */

#if SUB_GROUPS > 1
#define OF_SUB_GROUPS __attribute__((intel_reqd_sub_group_size(SUB_GROUPS)))
#else
#define OF_SUB_GROUPS
#endif

#if SHUFFLES
#define SYNC() __asm volatile("bar.warp.sync 0xffffffff;" : : : "memory")

uint from_lane(uint value, uint lane) {
    uint result;
    __asm volatile("shfl.sync.idx.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(result) : "r"(value), "r"(lane));
    return result;
}

#if REDUX
uint largest_of(uint value, __local uint *room) {
    uint result;
    __asm volatile("redux.sync.max.u32 %0, %1, 0xffffffff;" : "=r"(result) : "r"(value));
    return result;
}
uint smallest_of(uint value, __local uint *room) {
    uint result;
    __asm volatile("redux.sync.min.u32 %0, %1, 0xffffffff;" : "=r"(result) : "r"(value));
    return result;
}
#else
uint across(uint value, uint step) {
    uint result;
    __asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(result) : "r"(value), "r"(step));
    return result;
}
uint largest_of(uint value, __local uint *room) {
    uint step;
    for (step = WARP / 2; step; step /= 2) value = max(value, across(value, step));
    return value;
}
uint smallest_of(uint value, __local uint *room) {
    uint step;
    for (step = WARP / 2; step; step /= 2) value = min(value, across(value, step));
    return value;
}
#endif
#define LARGEST(x, room) as_float(largest_of(as_uint(x), room))
#define FROM_LANE(x, lane, room) as_float(from_lane(as_uint(x), (uint)(lane)))
#define ROOM_REAL uint

#elif SUB_GROUPS
#ifdef cl_khr_subgroups
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#endif
#define SYNC() barrier(CLK_LOCAL_MEM_FENCE)

/* Within each sub-group, then over the sub-groups if there are several. Any number of sub-groups is right, with any items. */
#define PICK_OF_SUB_GROUPS(name, type, reduce, pick)                                        \
    type name(type value, __local type *room) {                                             \
        const uint count = get_num_sub_groups();                                            \
        uint i;                                                                             \
        value = reduce(value);                                                              \
        if (count == 1) return value;                                                       \
        if (get_sub_group_local_id() == 0) room[get_sub_group_id()] = value;                \
        SYNC();                                                                             \
        for (i = 0; i < count; i++) value = pick(value, room[i]);                           \
        SYNC();                                                                             \
        return value;                                                                       \
    }

/* Numbers that are not negative have the order of their bits. */
#if REAL_BITS == 64
#define ROOM_REAL ulong
#define BITS_OF(x) as_ulong(x)
#define OF_BITS(x) as_double(x)
#else
#define ROOM_REAL uint
#define BITS_OF(x) as_uint(x)
#define OF_BITS(x) as_float(x)
#endif
PICK_OF_SUB_GROUPS(largest_of, ROOM_REAL, sub_group_reduce_max, max)
PICK_OF_SUB_GROUPS(smallest_of, uint, sub_group_reduce_min, min)
#define LARGEST(x, room) OF_BITS(largest_of(BITS_OF(x), room))
#define FROM_LANE(x, lane, room) OF_BITS(largest_of((int)get_local_id(0) == (int)(lane) ? BITS_OF(x) : 0, room))

#else /* by way of local memory */
#define SYNC() barrier(CLK_LOCAL_MEM_FENCE)

/* Reduces the values of all lanes by `pick`; every lane gets the result. */
#define PICK_OF_LANES(name, type, pick)                                                     \
    type name(type value, __local type *room) {                                             \
        int lane = (int)get_local_id(0), width;                                             \
        room[lane] = value;                                                                 \
        for (width = WARP / 2; width; width /= 2) {                                         \
            SYNC();                                                                         \
            if (lane < width) room[lane] = pick(room[lane], room[lane + width]);            \
        }                                                                                   \
        SYNC();                                                                             \
        value = room[0];                                                                    \
        SYNC();                                                                             \
        return value;                                                                       \
    }
PICK_OF_LANES(largest_of, real, max)
PICK_OF_LANES(smallest_of, uint, min)

real from_lane(real value, int lane, __local real *room) {
    if ((int)get_local_id(0) == lane) room[0] = value;
    SYNC();
    value = room[0];
    SYNC();
    return value;
}
#define LARGEST(x, room) largest_of(x, room)
#define FROM_LANE(x, lane, room) from_lane(x, lane, room)
#define ROOM_REAL real
#endif
