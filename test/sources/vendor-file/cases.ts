import type { HttpReply } from '../../../src/sources/source.ts'
import type { OperationName } from '../../../src/sources/vendor-file/schema.ts'

/** An answer of a vendor by its documents, and what it means: an outcome, or the reason and the problem of a failure. */
export type Case = {
  readonly operation: OperationName
  readonly reply: HttpReply
  readonly expected: string
  readonly hasNames?: true
  readonly settings?: Readonly<Record<string, unknown>>
}

const nin = (status: number, body: unknown, expected: string, more: Partial<Case> = {}): Case => ({
  operation: 'nin',
  reply: { status, body },
  expected,
  ...more,
})

const RECORD = { firstname: 'ADA', lastname: 'OBI', phone: '08031234567' }

/** What the simulated vendors do not send. */
export const CASES: Readonly<Record<string, readonly Case[]>> = {
  blusalt: [
    nin(400, { status_code: 400, message: 'Phone number does not match' }, 'not_found'),
    nin(200, { status_code: 422, message: 'Phone number does not match the NIN' }, 'not_found'),
    nin(200, { status_code: 404, message: 'Record not found' }, 'not_found'),
    nin(200, { status_code: 402, message: 'x' }, 'refused/funds'),
    nin(200, { status_code: 200, results: { nin_number: '12345678901' } }, 'found'),
    nin(200, { status_code: 200, results: { verification_status: 'VERIFIED' } }, 'found'),
    nin(
      200,
      { status_code: 200, results: { nin_number: '12345678901', verification_status: 'PENDING' } },
      'bad_response/unknown_shape',
    ),
  ],
  dojah: [
    nin(200, { entity: { first_name: 'ADA' } }, 'found'),
    nin(404, { status: 404, message: 'NIN not found', reference_id: 'x' }, 'not_found'),
  ],
  prembly: [
    nin(200, { response_code: '01', message: 'x' }, 'not_found'),
    nin(200, { response_code: '02', message: 'x' }, 'unreachable/vendor_down'),
    nin(200, { response_code: '03', message: 'x' }, 'refused/funds'),
    nin(
      200,
      { response_code: '00', nin_data: {}, verification: { status: 'PENDING' } },
      'bad_response/unknown_shape',
      {
        settings: { not_found: ['x'] },
      },
    ),
    nin(
      200,
      { response_code: '00', message: 'x', nin_data: {}, verification: { status: 'PENDING' } },
      'bad_response/unknown_shape',
      {
        settings: { not_found: ['x'] },
      },
    ),
    nin(200, { response_code: '00', data: {} }, 'found'),
    nin(200, { response_code: '00', data: {}, verification: { status: 'VERIFIED' } }, 'found'),
    nin(404, { message: 'Nothing known' }, 'not_found', { settings: { not_found: ['nothing known'] } }),
    { ...nin(200, { response_code: '07' }, 'watch_listed'), operation: 'bvn' },
    nin(200, { response_code: '07' }, 'bad_response/unknown_shape'),
    ...[
      ['01', 'not_found'],
      ['02', 'unreachable/vendor_down'],
      ['03', 'refused/funds'],
    ].map(
      ([response_code, expected = '']): Case => ({
        ...nin(200, { response_code }, expected),
        operation: 'bvn',
      }),
    ),
    { ...nin(200, { response_code: '00', data: {} }, 'found'), operation: 'bvn' },
    {
      ...nin(200, { response_code: '00', data: {}, verification: { status: 'VERIFIED' } }, 'found'),
      operation: 'bvn',
    },
    {
      ...nin(
        200,
        { response_code: '00', message: 'x', data: {}, verification: { status: 'PENDING' } },
        'bad_response/unknown_shape',
      ),
      operation: 'bvn',
      settings: { not_found: ['x'] },
    },
    {
      ...nin(404, { message: 'Nothing known' }, 'not_found'),
      operation: 'bvn',
      settings: { not_found: ['nothing known'] },
    },
  ],
  qoreid: (['nin', 'virtual_nin', 'bvn'] as const).flatMap((operation) => {
    const place = { nin: 'nin', virtual_nin: 'v_nin', bvn: 'bvn' }[operation]
    const status = (text: string) => ({ id: 1, status: { state: 'complete', status: text } })
    const asked = { operation, hasNames: true } as const
    return [
      { ...nin(200, status('not_found'), 'not_found'), operation },
      { ...nin(404, { message: 'NIN not found' }, 'not_found'), operation },
      { ...nin(200, { ...status('verified'), [place]: RECORD }, 'found'), operation },
      { ...nin(200, { ...status('id_mismatch'), [place]: RECORD }, 'found'), ...asked },
      { ...nin(200, status('id_mismatch'), 'names_differ'), ...asked },
      { ...nin(200, status('id_mismatch'), 'bad_response/rejected'), operation },
    ]
  }),
  youverify: [
    nin(404, { success: false, statusCode: 404, message: 'NIN not found' }, 'not_found'),
    nin(200, { success: false, message: 'Record not found' }, 'not_found'),
    nin(200, { success: false, statusCode: 402, message: 'Insufficient fund' }, 'refused/funds'),
    nin(200, { success: false, statusCode: 500, message: 'x' }, 'unreachable/vendor_failed'),
    nin(200, { success: false, statusCode: 200, data: { status: 'found' } }, 'bad_response/contradictory'),
    nin(200, { success: true, statusCode: 200, data: { status: 'found' } }, 'found'),
    nin(
      200,
      { success: true, statusCode: 200, data: { status: 'not_found', firstName: 'ADA' } },
      'bad_response/contradictory',
    ),
    nin(
      200,
      {
        success: true,
        statusCode: 200,
        data: { status: 'not_found', reason: 'NIMC is temporarily unavailable' },
      },
      'unreachable/vendor_down',
    ),
    nin(200, { success: true, statusCode: 200, data: { status: 'not_found' } }, 'not_found'),
  ],
  korapay: [
    nin(404, { status: false, message: 'NIN not found' }, 'not_found'),
    nin(200, { status: false, message: 'Insufficient balance' }, 'refused/funds'),
    nin(200, { status: false, message: 'Try again later' }, 'unreachable/vendor_down'),
    nin(200, { status: true, data: { id: '12345678901' } }, 'found'),
  ],
  mono: [
    nin(404, { message: 'NIN not found' }, 'not_found'),
    nin(200, { status: 'failed', message: 'Service unavailable' }, 'unreachable/vendor_down'),
    nin(200, { status: 'successful', data: { nin: '12345678901' } }, 'found'),
  ],
  monnify: (['nin', 'bvn'] as const).flatMap((operation) => {
    const asked = { operation, hasNames: true } as const
    const error = (responseMessage: string) => ({
      requestSuccessful: false,
      responseCode: '99',
      responseMessage,
    })
    const match = (mobileNo: string, matchStatus: string, dateOfBirth: string) => ({
      requestSuccessful: true,
      responseCode: '0',
      responseBody: { nin: '12345678901', bvn: '12345678901', name: { matchStatus }, dateOfBirth, mobileNo },
    })
    const [yes, no] = ['FULL_MATCH', 'NO_MATCH']
    const comparisons: readonly Case[] = [
      nin(200, match(no, yes, yes), 'not_found', asked),
      nin(200, match(yes, 'PARTIAL_MATCH', yes), 'names_differ', asked),
      nin(200, match(yes, yes, no), 'names_differ', asked),
    ]
    return [
      nin(400, error('Unknown'), 'not_found', { ...asked, settings: { not_found: ['unknown'] } }),
      nin(200, error('Try again later'), 'unreachable/vendor_down', asked),
      nin(200, match(yes, yes, yes), 'found', asked),
      ...(operation === 'bvn' ? comparisons : []),
    ]
  }),
  smileid: [
    nin(404, { error: 'Unknown' }, 'not_found', { settings: { not_found: ['unknown'] } }),
    nin(400, { code: '2215', error: 'Error - Job already exists for job_id' }, 'refused/repeated_call'),
    ...(
      [
        ['1012', { Actions: { Verify_ID_Number: 'Verified' } }, 'found'],
        ['1012', { Actions: { Verify_ID_Number: 'Not Verified' } }, 'bad_response/contradictory'],
        ['1013', { Actions: { Verify_ID_Number: 'Not Verified' } }, 'not_found'],
        [
          '1013',
          { Actions: { Verify_ID_Number: 'Not Verified' }, FullName: 'ADA OBI' },
          'bad_response/contradictory',
        ],
        [
          '1013',
          { Actions: { Verify_ID_Number: 'Not Verified' }, ResultText: 'Try again later' },
          'unreachable/vendor_down',
        ],
        ['1014', {}, 'bad_response/rejected'],
        ['1015', {}, 'unreachable/vendor_down'],
        ['1016', {}, 'refused/credentials'],
      ] as const
    ).map(([ResultCode, more, expected]) => nin(200, { ResultCode, ...more }, expected)),
  ],
  seamfix: [
    nin(404, { description: 'Unknown' }, 'not_found', { settings: { not_found: ['unknown'] } }),
    ...(
      [
        ['PENDING', '99', {}, 'unreachable/vendor_down'],
        ['PENDING', '99', { description: 'Insufficient wallet balance' }, 'refused/funds'],
        ['PENDING', '99', { response: { surname: 'OBI' } }, 'bad_response/contradictory'],
        ['VERIFIED', '00', { response: { surname: 'OBI' } }, 'found'],
        ['NOT VERIFIED', '00', { response: null }, 'not_found'],
        ['NOT VERIFIED', '00', { description: 'Try again later' }, 'unreachable/vendor_down'],
      ] as const
    ).map(([verificationStatus, responseCode, more, expected]) =>
      nin(200, { verificationStatus, responseCode, ...more }, expected),
    ),
  ],
  sourceid: [
    nin(404, { status: false, message: 'Record not found' }, 'not_found', { operation: 'bvn' }),
    nin(200, { status: false, statusCode: '402' }, 'refused/funds', { operation: 'bvn' }),
    nin(200, { status: true, responseCode: '00', data: {} }, 'found', { operation: 'bvn' }),
  ],
}
