/** An amount for people: ₦1,234.50. Not by Intl, whose first use takes 20 ms of a command. */
export const toNaira = (kobo: number): string =>
  `₦${(kobo / 100).toFixed(2).replace(/\B(?=(?:\d{3})+\.)/g, ',')}`
