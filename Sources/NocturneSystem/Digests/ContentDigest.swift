internal import CCrypto

/// A SHA-256 digest: what "the same content" means for sources, model packages and results.
public struct ContentDigest: Hashable, Sendable, CustomStringConvertible {
    /// 64 lower-case hexadecimal digits.
    public let hex: String

    /// Nil unless `hex` is 64 hexadecimal digits.
    public init?(hex: String) {
        let lower = hex.lowercased()
        guard lower.utf8.count == 64, lower.utf8.allSatisfy({ ($0 >= 48 && $0 <= 57) || ($0 >= 97 && $0 <= 102) })
        else { return nil }
        self.hex = lower
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
        let digits = Array("0123456789abcdef".utf8)
        let hex = digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return ContentDigest(hex: String(decoding: hex, as: UTF8.self))!
    }
}
