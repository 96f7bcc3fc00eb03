<?php

declare(strict_types=1);

namespace Tabbat\Internal;

use Closure;

/** @internal */
final class Call
{
    /**
     * @param array<string, string> $headers
     * @param list<string> $sent Texts of the request that an error must not quote.
     * @param bool $isLarge A body for which the time of one request is too short: it has the time of the whole call.
     * @param bool $isStream The body of a success is read as it arrives.
     * @param ?Closure $isResult Whether an error is a result: its response is returned.
     */
    public function __construct(
        public readonly string $method,
        public readonly string $path,
        public readonly ?float $timeoutS = null,
        public readonly array $headers = [],
        #[\SensitiveParameter] public readonly ?string $body = null,
        #[\SensitiveParameter] public readonly array $sent = [],
        public readonly bool $isLarge = false,
        public readonly bool $isStream = false,
        public readonly ?Closure $isResult = null,
    ) {
    }
}
