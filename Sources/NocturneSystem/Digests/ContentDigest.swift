internal import CCrypto

/// A SHA-256 digest: what "the same content" means for sources, model packages and results.
public struct ContentDigest: Hashable, Sendable, CustomStringConvertible {
    /// The bytes of the digest, the first ones in the most significant places.
    private let words: SIMD4<UInt64>

    fileprivate init(bytes: [UInt8]) {
        var words = SIMD4<UInt64>()
        for (place, byte) in bytes.prefix(32).enumerated() { words[place / 8] = words[place / 8] << 8 | UInt64(byte) }
        self.words = words
    }

    /// Nil unless `hex` is 64 hexadecimal digits.
    public init?(hex: String) {
        let digits = hex.utf8.compactMap { Character(UnicodeScalar($0)).hexDigitValue }
        guard digits.count == 64, hex.utf8.count == 64 else { return nil }
        self.init(bytes: stride(from: 0, to: 64, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) })
    }

    /// 64 lower-case hexadecimal digits.
    public var hex: String {
        let digits: StaticString = "0123456789abcdef"
        return String(unsafeUninitializedCapacity: 64) { text in
            for place in 0..<64 {
                let digit = words[place / 16] >> UInt64(60 - 4 * (place % 16)) & 15
                text[place] = digits.utf8Start[Int(digit)]
            }
            return 64
        }
    }

    public var description: String { hex }

    public static func of(_ text: String) -> ContentDigest {
        var digester = ContentDigester()
        digester.update(Array(text.utf8))
        return digester.finish()
    }
}

/// Builds a digest piece by piece.
public struct ContentDigester: ~Copyable {
    private let context: OpaquePointer

    public init() {
        guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else {
            preconditionFailure("libcrypto offers no SHA-256")
        }
        self.context = context
    }

    deinit { EVP_MD_CTX_free(context) }

    public mutating func update(_ bytes: UnsafeRawBufferPointer) {
        EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
    }

    public mutating func update(_ bytes: [UInt8]) { bytes.withUnsafeBytes { update($0) } }

    /// The digest of all that came before. To be called once.
    public mutating func finish() -> ContentDigest {
        var digest = [UInt8](repeating: 0, count: 32)
        EVP_DigestFinal_ex(context, &digest, nil)
        return ContentDigest(bytes: digest)
    }
}
