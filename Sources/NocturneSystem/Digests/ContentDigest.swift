internal import CCrypto

/// A SHA-256 digest: what "the same content" means for sources, model packages and results.
public struct ContentDigest: Hashable, Sendable, CustomStringConvertible {
    /// The bytes of the digest, the first ones in the most significant places. Not one vector of 32 bytes: digests are alive across
    /// awaits, where Swift 6.3 gives such a vector too short a frame (Tools/checks/async_frames.py).
    private let (low, high): (SIMD2<UInt64>, SIMD2<UInt64>)

    /// - Parameter own: the 32 bytes of the digest itself.
    fileprivate init(own: [UInt8]) {
        var rest = own.makeIterator()
        func word() -> UInt64 { (0..<8).reduce(0) { word, _ in word << 8 | UInt64(rest.next() ?? 0) } }
        low = SIMD2(word(), word())
        high = SIMD2(word(), word())
    }

    /// Nil unless `hex` is 64 hexadecimal digits.
    public init?(hex: String) {
        guard hex.utf8.count == 64 else { return nil }
        var words = SIMD4<UInt64>()
        var (word, count) = (UInt64(0), 0)
        for digit in hex.utf8 {
            guard let value = Self.value(of: digit) else { return nil }
            word = word << 4 | UInt64(value)
            count += 1
            if count.isMultiple(of: 16) { words[count / 16 - 1] = word }
        }
        (low, high) = (words.lowHalf, words.highHalf)
    }

    /// Of a hexadecimal digit.
    private static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// 64 lower-case hexadecimal digits.
    public var hex: String {
        let digits: StaticString = "0123456789abcdef"
        let words = SIMD4(lowHalf: low, highHalf: high)
        return String(unsafeUninitializedCapacity: 64) { text in
            for place in 0..<64 {
                let digit = words[place / 16] >> UInt64(60 - 4 * (place % 16)) & 15
                text[place] = digits.utf8Start[Int(digit)]
            }
            return 64
        }
    }

    /// As ``hex``.
    public var description: String { hex }

    /// The digest of a text in UTF-8.
    public static func of(_ text: String) -> ContentDigest { of(Array(text.utf8)) }

    /// The digest of bytes.
    public static func of(_ bytes: [UInt8]) -> ContentDigest {
        var digester = ContentDigester()
        digester.update(bytes)
        return digester.finish()
    }
}

/// Builds a digest piece by piece.
///
/// ```swift
/// var digester = ContentDigester()
/// digester.update(header)
/// digester.update(body)
/// let digest = digester.finish()
/// ```
///
/// The hash is libcrypto's, which uses the processor's instructions for SHA-256 where there are any.
public struct ContentDigester: ~Copyable {
    private let context: OpaquePointer

    /// Begins with no bytes: finished now, it is the digest of an empty file.
    public init() {
        guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else {
            // A libcrypto without SHA-256 is a wrong installation: no digest of a batch could be trusted.
            preconditionFailure("libcrypto offers no SHA-256")
        }
        self.context = context
    }

    deinit { EVP_MD_CTX_free(context) }

    /// Adds bytes. How they are divided into calls does not change the digest.
    public mutating func update(_ bytes: UnsafeRawBufferPointer) {
        EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
    }

    /// Adds the bytes of an array, like ``update(_:)-(UnsafeRawBufferPointer)``.
    public mutating func update(_ bytes: [UInt8]) { bytes.withUnsafeBytes { update($0) } }

    /// The digest of all that came before. To be called once.
    public mutating func finish() -> ContentDigest {
        var digest = [UInt8](repeating: 0, count: 32)
        EVP_DigestFinal_ex(context, &digest, nil)
        return ContentDigest(own: digest)
    }
}
