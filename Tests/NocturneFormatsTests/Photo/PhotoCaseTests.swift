import Foundation
import NocturneCore
import NocturneFormats
import NocturneNumerics
import NocturneTestSupport
import Testing

/// One case of `Tools/fixtures/make_photo_fixtures.py`: what the training code's own steps made of a picture.
struct PhotoCase: Decodable, Sendable, CustomTestStringConvertible {
    let file: String
    let size: Int
    let constancy: Bool
    let expected: String
    let gains: [Double]
    let exemption: String?
    let means: [Double]
    let places: [Int]
    let values: [Double]

    var testDescription: String { expected }

    static let all: [PhotoCase] = {
        let read = try? JSONDecoder().decode(
            [PhotoCase].self,
            from: Data(contentsOf: Fixtures.url("Photos/cases.json"))
        )
        return read ?? []
    }()
}

@Suite("Photos prepared as in training")
struct PhotoCaseTests {
    static let mean = [0.485, 0.456, 0.406]
    static let deviation = [0.229, 0.224, 0.225]

    /// The square in the middle of a picture, `side` pixels wide.
    static func square(of image: RGBImage, _ side: Int) throws -> RGBImage {
        let part = PixelBox.centreSquare(width: image.width, height: image.height)
        return try PillowResize.bilinear(image, part: part, width: side, height: side)
    }

    @Test("There are at least fifty cases")
    func count() {
        #expect(PhotoCase.all.count >= 50)
    }

    @Test("Every value of the model's input is within 2/255 of Pillow's and NumPy's", arguments: PhotoCase.all)
    func agreement(_ photoCase: PhotoCase) throws {
        let photo = try PhotoReader.read(at: Fixtures.url("Photos/\(photoCase.file)").path)
        let square = try Self.square(of: photo.image, photoCase.size)
        let constancy = photoCase.constancy ? ShadesOfGray(measuring: square) : nil
        #expect(constancy?.exemption?.rawValue == photoCase.exemption)
        let values = NetworkColors(mean: Self.mean, deviation: Self.deviation).planes(
            of: square,
            gains: constancy?.gains ?? SIMD3(repeating: 1),
            width: photoCase.size,
            height: photoCase.size
        )

        let count = photoCase.size * photoCase.size
        try #require(values.count == 3 * count)
        // A lossless PNG of the resized square; from there to the input by the formula, slowly.
        let picture = try PhotoReader.read(at: Fixtures.url("Photos/\(photoCase.expected)").path).image
        var worst = 0.0
        var sums = [0.0, 0.0, 0.0]
        for channel in 0..<3 {
            for place in 0..<count {
                let level = Double(picture.samples[place * 3 + channel]) * photoCase.gains[channel]
                let wanted = (min(level, 255) / 255 - Self.mean[channel]) / Self.deviation[channel]
                let found = Double(values[channel * count + place])
                worst = max(worst, abs(found - wanted))
                sums[channel] += found
            }
        }
        #expect(worst < 2.0 / 255)
        // And what NumPy itself had at some places, so that a mistake in the formula above would show.
        for (place, value) in zip(photoCase.places, photoCase.values) {
            #expect(abs(Double(values[place]) - value) < 2.0 / 255)
        }
        for channel in 0..<3 {
            #expect(abs(sums[channel] / Double(count) - photoCase.means[channel]) < 0.001)
        }
    }

    @Test("The cases without JPEG agree to the last bit of the resized picture")
    func bits() throws {
        for photoCase in PhotoCase.all where !photoCase.file.contains("jp") {
            let photo = try PhotoReader.read(at: Fixtures.url("Photos/\(photoCase.file)").path)
            let expected = try PhotoReader.read(at: Fixtures.url("Photos/\(photoCase.expected)").path).image
            #expect(try Self.square(of: photo.image, photoCase.size) == expected, "\(photoCase.file)")
        }
    }
}
