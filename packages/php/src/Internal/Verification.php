<?php

declare(strict_types=1);

namespace Tabbat\Internal;

use Tabbat\MatchLevel;
use Tabbat\NotVerified;
use Tabbat\Pending;
use Tabbat\Record;
use Tabbat\TabbatException;
use Tabbat\VerificationResult;
use Tabbat\Verified;
use Throwable;

/** What is sent for a verification, and what its response means. @internal */
final class Verification
{
    /** A NIN or a BVN, or a virtual NIN. */
    private const NUMBER = '/^(?:[0-9]{11}|[A-Z]{2}[0-9]{12}[A-Z]{2})$/D';

    public static function isNotVerified(TabbatException $error): bool
    {
        return $error->status === 422 && $error->errorCode === 'not_verified';
    }

    /**
     * Whether the record has another number than was sent. For a virtual NIN it may have the NIN; a key may not see the number.
     *
     * @param array<string, string> $request
     */
    public static function isOfAnother(VerificationResult $result, #[\SensitiveParameter] array $request): bool
    {
        if (!$result instanceof Verified) {
            return false;
        }
        $asked = strtoupper(trim($request['nin'] ?? $request['bvn'] ?? ''));
        $given = $result->person[isset($request['nin']) ? 'nin_number' : 'bvn_number'] ?? null;
        return is_string($given) && preg_match(self::NUMBER, $asked) && preg_match(self::NUMBER, $given)
            && strlen($given) === strlen($asked) && $given !== $asked;
    }

    /** VERIFIED needs all its signs, so that no odd response is taken for it. */
    public static function readResult(Answer $answer): VerificationResult
    {
        $body = is_array($answer->body) ? $answer->body : [];
        $data = is_array($body['data'] ?? null) ? $body['data'] : [];
        $reference = $data['request_reference'] ?? null;
        $state = $data['verification_status'] ?? null;
        return match (true) {
            !is_string($reference) || $reference === '' => throw TabbatException::unexpectedResponse($answer->status),
            $answer->status === 200 && ($body['success'] ?? null) === true && $state === 'VERIFIED' =>
                new Verified($reference, new Record($data), self::readMatch($answer->headers['tabbat-match'] ?? '')),
            $answer->status === 422 && $state === 'NOT_VERIFIED' => new NotVerified($reference),
            $answer->status === 202 && $state === 'PENDING' => new Pending($reference),
            default => throw TabbatException::unexpectedResponse($answer->status),
        };
    }

    /** Tabbat-Match: first_name=exact, date_of_birth=no. @return array<string, MatchLevel> */
    private static function readMatch(string $header): array
    {
        preg_match_all('/(\w+)=(\w+)/', $header, $found);
        return array_filter(array_map(MatchLevel::tryFrom(...), array_combine($found[1], $found[2])));
    }

    /** An amount and an operation are not personal, and may be found in other texts. @return list<string> */
    public static function listPersonal(#[\SensitiveParameter] array $request): array
    {
        $personal = array_diff_key($request, ['amount' => true, 'operation' => true]);
        return array_map(strval(...), array_values(array_filter($personal, static fn (mixed $value): bool => is_scalar($value) && $value !== '')));
    }

    public static function toJson(#[\SensitiveParameter] array $value): string
    {
        try {
            return json_encode($value, JSON_THROW_ON_ERROR | JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES);
        } catch (Throwable) {
            // Also what an object of the caller throws: the trace of that has the whole request.
            throw TabbatException::invalidArgument('A value of the request cannot be sent as JSON.');
        }
    }

    /** The Idempotency-Key is made before the first attempt and kept for all of them. @return array<string, string> */
    public static function toPostHeaders(?string $idempotencyKey): array
    {
        return [
            'content-type' => 'application/json',
            'idempotency-key' => self::toHeader('idempotencyKey', $idempotencyKey ?? self::createUuid(), 255),
        ];
    }

    public static function toHeader(string $name, #[\SensitiveParameter] string $value, int $maxLength): string
    {
        if (strlen($value) <= $maxLength && preg_match('/^[\x21-\x7e]+$/D', $value)) {
            return $value;
        }
        throw TabbatException::invalidArgument("$name must be 1 to $maxLength visible ASCII characters without spaces.");
    }

    public static function toPrefer(bool|int $respondAsync): string
    {
        if (is_int($respondAsync) && ($respondAsync < 0 || $respondAsync > 3600)) {
            throw TabbatException::invalidArgument('respondAsync must be true, false or a whole number of seconds.');
        }
        return is_int($respondAsync) ? "respond-async, wait=$respondAsync" : 'respond-async';
    }

    private static function createUuid(): string
    {
        $bytes = random_bytes(16);
        $bytes[6] = chr((ord($bytes[6]) & 0x0f) | 0x40);
        $bytes[8] = chr((ord($bytes[8]) & 0x3f) | 0x80);
        return vsprintf('%s%s-%s-%s-%s-%s%s%s', str_split(bin2hex($bytes), 4));
    }
}
