/* sum.h - one sum of what the work-items of a group hold: for residual.cl, update.cl and lasso.cl.

   The file that includes it says SUM, the type of the sums. */

/* Sums what `items` neighbours hold in the room that is theirs, always in the same order, and leaves the room free.
   All items of the group take part. */
SUM sum_over(SUM value, int item, int items, __local SUM *room) {
    int width;
    if (items == 1) return value;
    room[item] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (width = items / 2; width > 0; width /= 2) {
        if (item < width) room[item] += room[item + width];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    value = room[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    return value;
}
