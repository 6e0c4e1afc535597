import NocturneCore
import NocturneSystem
import Testing

@Suite("ContentDigest")
struct ContentDigestTests {
    // FIPS 180-4's examples, and the digest of nothing.
    static let vectors: [(String, String)] = [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
    ]

    @Test("known texts have known digests", arguments: vectors)
    func known(text: String, hex: String) {
        #expect(ContentDigest.of(text).hex == hex)
        #expect(ContentDigest.of(text).description == hex)
    }

    @Test("how the bytes are cut does not matter")
    func pieces() {
        let bytes = (0..<1000).map { UInt8(truncatingIfNeeded: $0 * 7) }
        func digest(_ size: Int) -> ContentDigest {
            var digester = ContentDigester()
            var start = 0
            while start < bytes.count {
                digester.update(Array(bytes[start..<min(start + size, bytes.count)]))
                start += size
            }
            return digester.finish()
        }
        for size in [1, 3, 63, 64, 65, 999] { #expect(digest(size) == digest(1000)) }
    }

    @Test("only 64 hexadecimal digits are a digest; case does not matter")
    func hex() {
        let good = String(repeating: "aF", count: 32)
        #expect(ContentDigest(hex: good)?.hex == good.lowercased())
        #expect(ContentDigest(hex: good.lowercased()) == ContentDigest(hex: good.uppercased()))
        for bad in [
            "", String(good.dropLast()), good + "0", String(repeating: "g", count: 64), "0x" + good.dropLast(2),
        ] {
            #expect(ContentDigest(hex: bad) == nil)
        }
    }
}
