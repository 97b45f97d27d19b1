@testable import PushmillCiphers

/// The key set that the ciphertext seeds were sealed with, at least one key for each use.
enum SampleKeys {
    static let ring = KeyRing((try? KeySetReader(Array(text.utf8)).keys) ?? [])

    /// The values that accompany the seed in web push's older form.
    static let draft = WebPushForm.Draft(
        point: bytes("BDVEvROp5ZdIFqEtHzBUwi8ock3ewWNjLgESJKeOJWWEFCv_hkYG1Q3M3rW9EeFLJQ9L9zGKlt42i7vgjUSnrog"),
        salt: bytes("ryRp5bHx4WaAAYLIup4hyw"))

    private static func bytes(_ text: String) -> [UInt8] { (try? BinaryText.bytes(ofBare: text)) ?? [] }

    private static let text = #"""
        {"keys":[
            {"kty":"oct","kid":"k1","alg":"dir","k":"diQaMjjgwhGfP1nYpVpdhRv3t671U5IDU0dmc3yke5M"},
            {"kty":"oct","kid":"k2","alg":"A256KW","k":"fkHyJQ4TyEvmw_rf1Ynp5GEReOBZXOBkaR6eqNo6L30"},
            {"kty":"oct","kid":"k3","alg":"A128KW","k":"vCPElUpXPAMOxOEscCptnw"},
            {"kty":"oct","kid":"k4","alg":"A256GCMKW","k":"1AVF7f7K-g803Kkoe_eimVj3LgV8IreGBnMflWeB3kM"},
            {"kty":"EC","crv":"P-256","x":"eIwkpKHsm4zHZjKOXmXqNMFsn1OZtdLo4vyZHGLey3U",
             "y":"isHy9DjIQcaMS692BamXTnQqofs2izyurng51JZfqwM","kid":"ec",
             "d":"EZBLx_tVmSdE5rItuRcgzYgXigKbOdKqDPhSTXjP938","alg":"ECDH-ES"},
            {"kty":"oct","kid":"raw","alg":"A256GCM","k":"nt67R6qzJysHm1kO_Yy20WDoaK8LjF2ZJZg10Cmz0KU"},
            {"kty":"oct","kid":"raw128","alg":"A128GCM","k":"94vre5-7XZzdesfzzZ54SA"},
            {"kty":"oct","kid":"chacha","alg":"C20P","k":"9W07m3nRHIxe5oVkV6bFEasWVM70Ur92BmMnCi4bRL0"},
            {"kty":"oct","kid":"pw","alg":"openssl","k":"bXl2VXJ2UFluQllJUXhVRU55dG50Vk5yeTZpblBBQUw"},
            {"kty":"EC","crv":"P-256","x":"M8QBHsgu6j28Td8WLmyBwhQj37QcF4z8Qy-J0hEPmKw",
             "y":"IxRQbN0Ze5qKJQs7Z4vQAHJn3b1LUdnqRc03NfsbJmk","kid":"push",
             "d":"SAI3VRFq_N2czXyuXgzGUpcD7xelxtxcF0K1VD34rFI","auth":"ZQpO_Ezrgmqe1Mi-R65w-A"}
        ]}
        """#
}
