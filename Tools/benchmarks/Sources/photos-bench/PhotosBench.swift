import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneNumerics
import NocturneSystem

/// Waits for lines `THREADS REPEATS PICTURE`, prepares the picture REPEATS times on each of THREADS threads at once, and answers
/// with one line of JSON: seconds, processor seconds and pictures.
@main
enum PhotosBench {
    /// Side of the classifier's input in pixels.
    static let side = 380
    /// Those of ImageNet.
    static let colors = NetworkColors(mean: [0.485, 0.456, 0.406], deviation: [0.229, 0.224, 0.225])

    /// From the file to a classifier's input, as the recipe does it.
    static func prepare(_ path: String) throws -> [Float] {
        var resize: PillowResize?
        _ = try PhotoReader.readBands(
            at: path,
            part: { facts in
                let square = PixelBox.centreSquare(width: facts.uprightWidth, height: facts.uprightHeight)
                resize = try PillowResize(
                    sourceWidth: square.width,
                    sourceHeight: square.height,
                    width: side,
                    height: side
                )
                return square
            },
            { resize?.add($0.samples, stride: $0.stride, count: $0.rows.count) }
        )
        guard let picture = try resize?.finish() else { throw CancelledError() }
        let gains = ShadesOfGray(measuring: picture).gains
        return colors.planes(of: picture, gains: gains, width: side, height: side)
    }

    static func processorSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    static func main() throws {
        while let line = readLine() {
            let arguments = line.split(separator: " ", maxSplits: 2)
            guard arguments.count == 3, let threads = Int(arguments[0]), let repeats = Int(arguments[1]) else {
                continue
            }
            let path = String(arguments[2])
            if threads == 0 {
                // The values themselves, to be compared.
                let values = try prepare(path)
                try values.withUnsafeBytes { try Data($0).write(to: URL(fileURLWithPath: path + ".values")) }
                print("{}")
            } else {
                let (start, begin) = (ContinuousClock.now, processorSeconds())
                let done = DispatchGroup()
                for _ in 0..<threads {
                    done.enter()
                    Thread {
                        for _ in 0..<repeats { _ = try? prepare(path) }
                        done.leave()
                    }.start()
                }
                done.wait()
                let seconds = (ContinuousClock.now - start) / .seconds(1)
                print("{\"seconds\": \(seconds), \"processorSeconds\": \(processorSeconds() - begin)}")
            }
            fflush(nil)
        }
    }
}
