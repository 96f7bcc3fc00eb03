import { describe, expect, it } from 'vitest'
import type { HttpReply } from '../../../src/sources/source.ts'
import { SourceError } from '../../../src/sources/source.ts'
import { useShippedFile } from '../shipped-file.ts'
import bvnReply from './bvn.json' with { type: 'json' }
import ninReply from './nin.json' with { type: 'json' }

const { create, toNinRecord, toBvnRecord, settings } = useShippedFile('qoreid')

describe('a NIN', () => {
  it('is converted to the shape of the contract, including nested objects', () => {
    const record = toNinRecord(ninReply)
    expect(record).toMatchObject({ nin_number: '63184876213', document_no: '' })
    expect(record.personal_info).toMatchObject({
      full_name: 'Bunch Sample Dillon',
      gender: 'm',
      phone_number: '08000000000',
      date_of_birth: '06-01-1974',
      formatted_date_of_birth: 'Jan 6, 1974',
      height: '****',
      image_url: '',
    })
    expect(record.next_of_kin).toMatchObject({
      firstname: 'Kin',
      surname: 'Dillon',
      address: '1 Sample Street',
    })
    expect(record.residential_info).toEqual({
      address: '2 Sample Street',
      lga_of_residence: 'Eti-Osa',
      state_of_residence: 'Lagos',
      residence_status: '',
    })
    expect(record.indigene_info).toMatchObject({ place_of_origin: '****', lga_of_birth: '' })
    expect(record.education_profession).toEqual({ educational_level: '', profession: 'TRADER' })
  })

  it('accepts nested objects that are missing or null', () => {
    const { next_of_kin: _, ...nin } = ninReply.nin
    const record = toNinRecord({ nin: { ...nin, residence: null } })
    expect(record.next_of_kin.surname).toBe('')
    expect(record.residential_info.address).toBe('3 Sample Street')
  })
})

it('converts the dates of a BVN to the format of the contract', () => {
  const record = toBvnRecord(bvnReply)
  expect(record).toMatchObject({
    bvn_number: '95888168924',
    enrolment_bank: '04',
    formatted_registration_date: null,
    watchlisted: null,
    nin: '',
  })
  expect(record.personal_info).toMatchObject({
    date_of_birth: '07-Jul-1995',
    formatted_date_of_birth: 'July 7, 1995',
    gender: 'Male',
    phone_number_2: null,
  })
  expect(record.residential_info.lga_of_residence).toBe('')
})

describe('an answer', () => {
  const values = {
    url: 'https://api.example.com',
    price: 0,
    dailyCap: undefined,
    connections: 512,
    client_id: 'client',
    secret: 'secret',
    vnin_path: '/v1/ng/identities/virtual-nin/{number}',
    nin_path: '/nin/{number}',
    bvn_path: '/bvn/{number}',
    not_found: undefined,
  }
  const call = { signal: AbortSignal.timeout(60_000), reference: 'ver_test' }
  const find = (reply: HttpReply) =>
    create(
      { ...values, names_optional: 'on' },
      {
        send: async ({ path }) => (path === '/token' ? { status: 200, body: { accessToken: 't' } } : reply),
      },
    ).findNin?.({ nin: '63184876213', phone: '8000000000' }, call)
  const withStatus = (state: string, status: string): HttpReply => ({
    status: 200,
    body: { id: 1, status: { state, status } },
  })

  it('is found only when complete and verified, with the vendor’s id as reference', async () => {
    expect(await find({ status: 200, body: ninReply })).toMatchObject({ found: true, reference: 1037712 })
  })

  it.each([
    ['complete and not found', withStatus('complete', 'not_found')],
    ['404', { status: 404, body: { id: 1, statusCode: 404, message: 'NIN not found' } }],
  ])('is not found for %s', async (_what, reply) => {
    expect(await find(reply)).toEqual({ found: false, reference: 1 })
  })

  it.each([
    ['a name mismatch, although we sent no names', withStatus('complete', 'id_mismatch'), 'rejected'],
    ['not verified, perhaps because of the names', withStatus('complete', 'not_verified'), 'rejected'],
    ['a status that is not complete', withStatus('in_progress', 'verified'), 'unknown_shape'],
    ['an unknown status', withStatus('complete', 'maybe'), 'unknown_shape'],
    ['verified without a person', withStatus('complete', 'verified'), 'unknown_shape'],
    ['422', { status: 422, body: {} }, 'unlisted'],
    ['a wrong path', { status: 404, body: { message: 'Cannot POST /nin/1' } }, 'unknown_path'],
    ['a path that is unknown to a proxy', { status: 404, body: { message: 'Not Found' } }, 'unknown_path'],
    ['a gateway without a route', { status: 404, body: { message: 'no Route matched' } }, 'unknown_path'],
    ['a 404 that is a web page', { status: 404, body: undefined }, 'unknown_path'],
    ['any other 404', { status: 404, body: { message: 'Nothing here' } }, 'unlisted'],
  ])('is a bad response for %s', async (_what, reply, problem) => {
    const error = await find(reply)?.catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(SourceError)
    expect(error).toMatchObject({ reason: 'bad_response', problem })
  })

  describe('with names', () => {
    const sent: unknown[] = []
    const findWith = (reply: HttpReply) => {
      const source = create(
        { ...values, names_optional: 'off' },
        {
          send: async ({ path, body }) => {
            if (path === '/token') return { status: 200, body: { accessToken: 't' } }
            sent.push(body)
            return reply
          },
        },
      )
      expect(source.needsDetails).toMatchObject({ nin: ['first_name', 'last_name'] })
      const details = { first_name: 'Bunch', last_name: 'Dillon', date_of_birth: '07-Jul-1995' }
      return source.findNin?.({ nin: '63184876213', phone: '8000000000', details }, call)
    }

    it('sends them, and the date of birth in its spelling', async () => {
      await findWith({ status: 200, body: ninReply })
      expect(sent.at(-1)).toEqual({ firstname: 'Bunch', lastname: 'Dillon', dob: '1995-07-07' })
    })

    it('reads the record of a person whose names differ: they are compared here', async () => {
      const body = { ...ninReply, status: { state: 'complete', status: 'id_mismatch' } }
      expect(await findWith({ status: 200, body })).toMatchObject({ found: true })
    })

    it('says that names differ if there is no record', async () => {
      expect(await findWith(withStatus('complete', 'id_mismatch'))).toEqual({
        found: false,
        reference: 1,
        namesDiffer: true,
      })
    })

    it('is a bad response if it is not verified, which is not documented', async () => {
      await expect(findWith(withStatus('complete', 'not_verified'))).rejects.toMatchObject({
        reason: 'bad_response',
      })
    })
  })
})

it('requires {number} in a path', () => {
  expect(settings.nin_path?.read('/v1/ng/identities/nin-premium/{number}')).toContain('{number}')
  expect(() => settings.nin_path?.read('/v1/ng/identities/nin')).toThrow('{number}')
})
