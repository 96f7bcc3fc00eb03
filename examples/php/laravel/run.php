<?php

/** Runs VerifyCustomer.php in an empty application of Laravel. COMPOSER_AUTOLOAD names the autoload.php of Laravel. */

declare(strict_types=1);

use App\Services\VerifyCustomer;
use Illuminate\Config\Repository;
use Illuminate\Foundation\Application;
use Tabbat\Laravel\TabbatServiceProvider;
use Tabbat\TabbatException;

// Laravel 8 uses what newer versions of PHP call deprecated.
error_reporting(E_ALL & ~E_DEPRECATED);
require_once getenv('COMPOSER_AUTOLOAD') ?: 'vendor/autoload.php';
require_once __DIR__ . '/../../../packages/php/autoload.php';
require_once __DIR__ . '/VerifyCustomer.php';

// An application does this at its start: Composer tells it of the provider.
$app = new Application(sys_get_temp_dir());
$app->instance('config', new Repository());
$app->register(TabbatServiceProvider::class);
$app->boot();

try {
    $customer = $app->make(VerifyCustomer::class);
    echo $customer->verify('12345678901', '08031234567'), "\n";
    echo $customer->verify('00000000422', '08031234567'), "\n";
    echo $customer->verify('12345678901', '123'), "\n";
    echo $customer->describeBundles('smile'), "\n";
} catch (TabbatException $error) {
    fwrite(STDERR, "status $error->status, code $error->errorCode, request $error->requestId\n");
    exit(1);
}
