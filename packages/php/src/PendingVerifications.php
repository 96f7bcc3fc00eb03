<?php

declare(strict_types=1);

namespace Tabbat;

use Tabbat\Internal\Call;
use Tabbat\Internal\Transport;
use Tabbat\Internal\Verification;

final class PendingVerifications
{
    /** @internal */
    public function __construct(private readonly Transport $transport)
    {
    }

    /**
     * The answer of a pending verification, or that it is still pending. $person['service_type'] is NIN or BVN.
     *
     * @throws TabbatException
     */
    public function get(string $reference, ?float $timeoutS = null): VerificationResult
    {
        $call = new Call('GET', self::toPath($reference), $timeoutS, isResult: Verification::isNotVerified(...));
        return Verification::readResult($this->transport->send($call));
    }

    /**
     * Cancels it. While a source is being asked, and after the end, this is an error: already_begun.
     *
     * @throws TabbatException
     */
    public function cancel(string $reference, ?float $timeoutS = null): void
    {
        $this->transport->send(new Call('DELETE', self::toPath($reference), $timeoutS));
    }

    private static function toPath(string $reference): string
    {
        if (preg_match('/^ver_[A-Za-z0-9_]+$/D', $reference)) {
            return "/api/v2/kyc/verifications/$reference";
        }
        throw TabbatException::invalidArgument('reference must be the reference of a verification: ver_…');
    }
}
