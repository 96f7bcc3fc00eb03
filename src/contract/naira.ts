const naira = new Intl.NumberFormat('en-GB', { minimumFractionDigits: 2, maximumFractionDigits: 2 })

/** An amount for people: ₦1,234.50. */
export const toNaira = (kobo: number): string => `₦${naira.format(kobo / 100)}`
