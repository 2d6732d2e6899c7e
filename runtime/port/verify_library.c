/* SHA-256 and signatures by mbedTLS, as ESP-IDF has it, or by another library with the PSA interface.
 *
 * While it verifies, mbedTLS takes 3.5 KB of heap (python -m bench.signature). From version 4 on it has the PSA interface
 * alone. Earlier configurations may lack that, but not its own. */
#include "signature.h"

#if defined(TIGRIS_SIGNED) && defined(TIGRIS_LIBRARY_VERIFIES)

#if !defined(TIGRIS_PSA)
#include <mbedtls/version.h>
#include <tigris_models.h>

/* mbedTLS has no Ed25519: the build fails here with such a key. */
TIGRIS_STATIC_ASSERT(TIGRIS_PUBLIC_KEY_ALGORITHM == TIGRIS_SIGNATURE_ALGORITHM_P256, mbedtls_verifies_p256_only);

#if MBEDTLS_VERSION_MAJOR >= 4
#define TIGRIS_PSA
#endif
#endif

#if defined(TIGRIS_PSA)

#include <psa/crypto.h>
#include <string.h>

void tigris_port_sha256(const void *data, size_t bytes, uint8_t *digest)
{
    size_t made = 0U;
    memset(digest, 0, TIGRIS_SHA256_BYTES);
    if (psa_crypto_init() == PSA_SUCCESS)
        (void)!psa_hash_compute(PSA_ALG_SHA_256, data, bytes, digest, TIGRIS_SHA256_BYTES, &made);
}

int tigris_port_verify(const tigris_public_key *key, const uint8_t *digest, const uint8_t *signature)
{
    const int is_p256 = key->algorithm == (uint16_t)TIGRIS_SIGNATURE_ALGORITHM_P256;
    const psa_algorithm_t algorithm = is_p256 ? PSA_ALG_ECDSA(PSA_ALG_SHA_256) : PSA_ALG_PURE_EDDSA;
    const psa_ecc_family_t family = is_p256 ? PSA_ECC_FAMILY_SECP_R1 : PSA_ECC_FAMILY_TWISTED_EDWARDS;
    psa_key_attributes_t attributes = PSA_KEY_ATTRIBUTES_INIT;
    psa_key_id_t id = 0U;
    psa_set_key_type(&attributes, PSA_KEY_TYPE_ECC_PUBLIC_KEY(family));
    psa_set_key_bits(&attributes, is_p256 ? 256U : 255U);
    psa_set_key_usage_flags(&attributes, is_p256 ? PSA_KEY_USAGE_VERIFY_HASH : PSA_KEY_USAGE_VERIFY_MESSAGE);
    psa_set_key_algorithm(&attributes, algorithm);
    if (psa_crypto_init() != PSA_SUCCESS || psa_import_key(&attributes, key->data, key->bytes, &id) != PSA_SUCCESS)
        return 0;
    const psa_status_t status =
        is_p256 ? psa_verify_hash(id, algorithm, digest, TIGRIS_SHA256_BYTES, signature, TIGRIS_SIGNATURE_BYTES)
                : psa_verify_message(id, algorithm, digest, TIGRIS_SHA256_BYTES, signature, TIGRIS_SIGNATURE_BYTES);
    (void)!psa_destroy_key(id);
    return status == PSA_SUCCESS;
}

#else

#include <mbedtls/ecdsa.h>
#include <mbedtls/md.h>
#include <string.h>

#define WORD_BYTES (TIGRIS_SIGNATURE_BYTES / 2U)

void tigris_port_sha256(const void *data, size_t bytes, uint8_t *digest)
{
    memset(digest, 0, TIGRIS_SHA256_BYTES);
    (void)!mbedtls_md(mbedtls_md_info_from_type(MBEDTLS_MD_SHA256), data, bytes, digest);
}

int tigris_port_verify(const tigris_public_key *key, const uint8_t *digest, const uint8_t *signature)
{
    mbedtls_ecp_group group;
    mbedtls_ecp_point point;
    mbedtls_mpi r, s;
    mbedtls_ecp_group_init(&group);
    mbedtls_ecp_point_init(&point);
    mbedtls_mpi_init(&r);
    mbedtls_mpi_init(&s);
    const int is_valid = mbedtls_ecp_group_load(&group, MBEDTLS_ECP_DP_SECP256R1) == 0 &&
                         mbedtls_ecp_point_read_binary(&group, &point, key->data, key->bytes) == 0 &&
                         mbedtls_mpi_read_binary(&r, signature, WORD_BYTES) == 0 &&
                         mbedtls_mpi_read_binary(&s, signature + WORD_BYTES, WORD_BYTES) == 0 &&
                         mbedtls_ecdsa_verify(&group, digest, TIGRIS_SHA256_BYTES, &point, &r, &s) == 0;
    mbedtls_mpi_free(&s);
    mbedtls_mpi_free(&r);
    mbedtls_ecp_point_free(&point);
    mbedtls_ecp_group_free(&group);
    return is_valid;
}

#endif

#else
typedef int tigris_port_verify_library_unused;
#endif
