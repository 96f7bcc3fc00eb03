import { describe, expect, it } from 'vitest'
import { isDrawnByChance } from '../../src/telemetry/log.ts'

describe('an id that is written down', () => {
  it.each([
    'req_4f1c2a9be0d84c6f9a7d3e5b1c8f0a62',
    '3f2b8c1e-5d4a-4f6b-9c7d-8e0a1b2c3d4e',
    '01K9ZQ3V5S9M3C7D2HXG8T0ZAB',
    '01k9zq3v5s9m3c7d2hxg8t0zab',
  ])('may be %s', (id) => {
    expect(isDrawnByChance(id)).toBe(true)
  })

  it.each([
    // Digits alone: a number of a person with a time or zeros before it.
    '00000000000000012345678901',
    '20261116053000112345678901',
    '0000000000000T012345678901',
    '12345678-9012-3456-7890-123456789012',
    'req_00000000001234567890108031234567',
    'req_a0000000001234567890108031234567',
    '12345678901',
    'ada.obi@example.com',
  ])('is not %s', (id) => {
    expect(isDrawnByChance(id)).toBe(false)
  })
})
