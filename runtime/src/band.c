#include "band.h"

#include "extents.h"

static int32_t clip(int32_t row, int32_t height)
{
    return row < 0 ? 0 : row > height ? height : row;
}

static int32_t floor_divide(int32_t a, int32_t b)
{
    const int32_t quotient = a / b;
    return quotient - (a % b < 0 ? 1 : 0);
}

extern inline void tigris_view_at(const tigris_stage_run *run, uint32_t index, tigris_view *view);

int32_t tigris_paced_rows(const tigris_view_record *view, uint32_t bands, int32_t height)
{
    if (bands == 0U) {
        return 0; /* a positive offset brings more rows in the first band, none before it */
    }
    int32_t rows = (int32_t)(bands * view->pace_numerator) + view->pace_offset;
    /* Paces of whole and tiled stages have denominator 1: the division is for rolling stages only. */
    if (rows > 0 && view->pace_denominator != 1U) {
        rows /= (int32_t)view->pace_denominator;
    }
    return clip(rows, height);
}

void tigris_operand_rows(const tigris_operand_record *operand, int32_t height, int32_t first, int32_t end,
                         tigris_band *input)
{
    int32_t asked_first = first * operand->numerator + operand->first;
    int32_t asked_end = (end - 1) * operand->numerator + operand->last;
    const int32_t denominator = operand->denominator;
    if (denominator != 1) { /* of resampling operators only */
        asked_first = floor_divide(asked_first, denominator);
        asked_end = floor_divide(asked_end, denominator);
    }
    asked_end++;
    input->first = clip(asked_first, height);
    input->rows = clip(asked_end, height) - input->first;
    const int32_t outside = asked_end - asked_first - input->rows;
    /* A band that lies wholly in the padding counts all of it as rows above. */
    input->pad_top = input->rows == 0 ? outside : input->first - asked_first;
    input->pad_bottom = outside - input->pad_top;
}
