import Foundation
import NocturneCore
import NocturneFormats
import NocturneOutput
import NocturnePhotos
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("How a photo becomes the input of a classifier")
struct PhotoFittingTests {
    private static let (red, green, blue) = (SIMD3<UInt8>(255, 0, 0), SIMD3<UInt8>(0, 255, 0), SIMD3<UInt8>(0, 0, 255))
    private static let white = SIMD3<UInt8>(255, 255, 255)

    /// 64×16 pixels: a quarter red, half of it green, a quarter blue; the green is white above and below its 8 rows in the middle.
    private static func photo() -> RGBImage {
        var image = RGBImage(width: 64, height: 16)
        for y in 0..<16 {
            for x in 0..<64 {
                image[x, y] = x < 16 ? red : x >= 48 ? blue : (4..<12).contains(y) ? green : white
            }
        }
        return image
    }

    /// A batch with the fixture's package, whose input has 16×16 pixels, and a way to resize.
    private func bench(_ resize: String, in folder: TemporaryFolder) throws -> PhotoBench {
        let source = Fixtures.url("PhotoModels/primary")
        for file in ["classifier.onnx", "attention.onnx"] {
            try FileManager.default.copyItem(at: source.appendingPathComponent(file), to: folder(file))
        }
        let text = try String(contentsOf: source.appendingPathComponent("model.json"), encoding: .utf8)
        try folder.write(
            text.replacing("\"inputSize\": 16,", with: "\"inputSize\": 16, \"resize\": \(resize),"),
            to: "model.json"
        )
        let bench = try PhotoBench(folder.path)
        try PNGWriter.write(Self.photo(), to: bench.folder("in/x.png").path)
        return bench
    }

    @Test("The square in the middle, the whole photo, or the middle of the photo once it was scaled")
    func fitting() async throws {
        let cases: [(String, [Int]?)] = [("null", [24, 0, 16]), ("\"stretch\"", nil), ("32", [28, 4, 8])]
        for (resize, square) in cases {
            let folder = try TemporaryFolder("nocturne-fitting")
            let bench = try bench(resize, in: folder)
            try await bench.run()
            let part = try bench.result("x").preparation.squarePx
            #expect(part.map { [$0.x, $0.y, $0.side] } == square, "\(resize)")
            let input = try PhotoReader.read(at: bench.output.item("x") + "/photo.png").image
            #expect(input.width == 16 && input.height == 16)
            // In the middle of the left quarter, of the photo, of the right quarter, and of the first four rows.
            let colors = [input[1, 8], input[8, 8], input[14, 8], input[8, 1]]
            switch resize {
            case "null": #expect(colors == [Self.green, Self.green, Self.green, Self.white])
            case "32": #expect(colors == [Self.green, Self.green, Self.green, Self.green])
            default: #expect(colors == [Self.red, Self.green, Self.blue, Self.white])
            }
        }
    }
}
