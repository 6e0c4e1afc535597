import NocturneCore
import NocturneNumerics
import NocturneSystem
import Testing

@Suite("Resizing as OpenCV does it")
struct BilinearResizeTests {
    private func image(_ width: Int, _ height: Int) -> RGBImage {
        var image = RGBImage(width: width, height: height)
        for y in 0..<height {
            for x in 0..<width {
                for channel in 0..<3 {
                    image.samples[3 * (y * width + x) + channel] = UInt8(
                        (x * 37 + y * 91 + channel * 53 + x * y * 7) % 256
                    )
                }
            }
        }
        return image
    }

    // cv2.resize(…, interpolation=cv2.INTER_LINEAR) of opencv-python-headless 5.0.0 on the same pictures.
    @Test("A picture that shrinks has OpenCV's values")
    func values() throws {
        let expected: [UInt8] = [
            45, 98, 151, 114, 156, 135, 108, 150, 203, 166, 112, 101, 201, 158, 51, 34, 87, 140, 124, 177, 230, 213,
            106, 63,
            101, 154, 143, 189, 93, 135, 150, 128, 170, 174, 120, 109,
        ]
        #expect(try BilinearResize.resize(image(7, 5), width: 4, height: 3).samples == expected)
    }

    @Test(
        "Larger and smaller pictures are the same to the byte",
        arguments: [
            ([100, 80, 61, 47], "12ec42b8e94cb61caaa922ff3808b8b7ad5edec6cf7aeb11c3f372543f154f27"),
            ([100, 80, 33, 20], "2c17b8edd1e388ea0a1bd72ffed9fff021fe46f63b0dd6724c45ee1e1b72a776"),
            ([40, 30, 97, 64], "17bf90117cca433b8eb2e03679555b547a1b29d5e9b57596b943b0c660dc2bdf"),
            ([64, 48, 32, 24], "ade4cc165992590809fa040653bc5b3c69168b118a2a94af72ec6a449c3ad15d"),
            ([50, 3, 7, 9], "36809e6df53b3f20764e2303d7f6145dad782964490b0a4c8c77d4660b2b9b6a"),
        ]
    )
    func digests(_ sizes: [Int], _ digest: String) throws {
        let resized = try BilinearResize.resize(image(sizes[0], sizes[1]), width: sizes[2], height: sizes[3])
        var digester = ContentDigester()
        digester.update(resized.samples)
        #expect(digester.finish().hex == digest)
    }

    @Test("A size without pixels is refused")
    func sizes() {
        #expect(throws: NumericsError.self) { try BilinearResize.resize(image(4, 4), width: 0, height: 2) }
    }
}
