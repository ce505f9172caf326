/* sum.h - the sum of a value of each work-item of a group: for residual.cl, update.cl and lasso.cl. */

/* SUM_OVER(name, type) defines name(value, item, items, room): the sum of the values of `items` neighbouring work-items, always in
   the same order. `room` has a value for each of them and may be used again afterwards. All items of the group take part. */
#define SUM_OVER(name, type)                                         \
    type name(type value, int item, int items, __local type *room) { \
        int width;                                                   \
        if (items == 1) return value;                                \
        room[item] = value;                                          \
        barrier(CLK_LOCAL_MEM_FENCE);                                \
        for (width = items / 2; width > 0; width /= 2) {             \
            if (item < width) room[item] += room[item + width];      \
            barrier(CLK_LOCAL_MEM_FENCE);                            \
        }                                                            \
        value = room[0];                                             \
        barrier(CLK_LOCAL_MEM_FENCE);                                \
        return value;                                                \
    }
