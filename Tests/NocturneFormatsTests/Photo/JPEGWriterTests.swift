import Foundation
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("JPEG files")
struct JPEGWriterTests {
    /// Smooth colours, which survive the halved resolution.
    private func picture(width: Int, height: Int) -> RGBImage {
        var image = RGBImage(width: width, height: height)
        for y in 0..<height {
            for x in 0..<width {
                image[x, y] = SIMD3(
                    UInt8(x * 255 / width),
                    UInt8(y * 255 / height),
                    UInt8((x + y) * 255 / (width + height))
                )
            }
        }
        return image
    }

    @Test("A smooth picture comes back within a few grey levels, and the more exactly the higher the quality")
    func roundTrip() throws {
        let folder = try TemporaryFolder()
        let image = picture(width: 301, height: 127)
        var errors: [Double] = []
        var sizes: [Int] = []
        for quality in [20, 85, 100] {
            let path = folder("\(quality).jpg").path
            try JPEGWriter.write(image, quality: quality, to: path)
            let read = try PhotoReader.read(at: path).image
            try #require(read.width == 301 && read.height == 127)
            let sum = zip(read.samples, image.samples).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }
            errors.append(Double(sum) / Double(image.samples.count))
            sizes.append(try #require(FileSystem.size(path)))
        }
        #expect(errors[0] > errors[1] && errors[1] > errors[2] && errors[1] < 1.5 && errors[2] < 1, "\(errors)")
        #expect(sizes == sizes.sorted() && sizes[1] < image.samples.count / 10, "\(sizes)")
    }

    @Test("The same picture has the same bytes; a picture of one pixel is a file")
    func sameBytes() throws {
        let folder = try TemporaryFolder()
        for image in [picture(width: 64, height: 48), RGBImage(width: 1, height: 1)] {
            let paths = ["a.jpg", "b.jpg"].map { folder($0).path }
            for path in paths { try JPEGWriter.write(image, quality: 85, to: path) }
            #expect(try FileSystem.read(paths[0]) == FileSystem.read(paths[1]))
            #expect(try PhotoReader.read(at: paths[0]).image.width == image.width)
        }
    }

    @Test("A picture that JPEG cannot hold, and a folder that is not there, are errors with the file's name")
    func refusals() throws {
        let folder = try TemporaryFolder()
        for image in [RGBImage(width: 0, height: 4), RGBImage(width: 65501, height: 1)] {
            let error = #expect(throws: PictureError.self) {
                try JPEGWriter.write(image, quality: 85, to: folder("a.jpg").path)
            }
            #expect(error?.code == .invalidImage && error?.path == folder("a.jpg").path)
            #expect(!FileSystem.exists(folder("a.jpg").path))
        }
        let error = #expect(throws: PictureError.self) {
            try JPEGWriter.write(picture(width: 2, height: 2), quality: 85, to: folder("no/a.jpg").path)
        }
        #expect(error?.code == .cannotWrite && error?.systemCode == 2)
    }
}
