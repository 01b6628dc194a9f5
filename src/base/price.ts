/** What counts as a price. No document says what values a provider may state. */

/** A larger number is no price. The limits in money have as many digits before the point. */
export const MAX_PRICE = 1e12 - 1;

/** One below 0 would make room for more servers. */
export const isPrice = (price: number | undefined): price is number =>
  Number.isFinite(price) && (price ?? -1) >= 0 && (price ?? Infinity) <= MAX_PRICE;
