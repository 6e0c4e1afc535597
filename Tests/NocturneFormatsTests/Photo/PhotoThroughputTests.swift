import Foundation
import NocturneFormats
import NocturneNumerics
import NocturneTestSupport
import Testing

/// The interpreter to compare with; nil where none is asked for.
private let python = ProcessInfo.processInfo.environment["NOCTURNE_PYTHON"]

/// From a JPEG to a model's input, against Pillow and NumPy doing the same. Needs Python with `Tools/requirements.txt`:
///
///     NOCTURNE_PYTHON=python3 swift test -c release --filter PhotoThroughputTests
@Suite("Photo throughput", .serialized, .enabled(if: python != nil))
struct PhotoThroughputTests {
    /// Runs a script of `Tools` and gives what it printed.
    static func run(_ script: String, _ arguments: [String]) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        let path = Checkout.folder.appendingPathComponent("Tools/\(script)").path
        process.arguments = [try #require(python), path] + arguments
        var environment = ProcessInfo.processInfo.environment
        // Helpers' time would not be counted.
        environment["OMP_NUM_THREADS"] = "1"
        process.environment = environment
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Median milliseconds of this thread's processor time.
    static func milliseconds(_ repeats: Int, _ body: () throws -> Void) rethrows -> Double {
        var times: [Double] = []
        for _ in 0..<repeats {
            var begin = timespec()
            var end = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin)
            try body()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end)
            times.append(Double(end.tv_sec - begin.tv_sec) * 1e3 + Double(end.tv_nsec - begin.tv_nsec) / 1e6)
        }
        return times.sorted()[repeats / 2]
    }

    /// The least ratio falls with the size, since the JPEG decoder is the same library on both sides.
    @Test(
        "One thread is several times as fast as Pillow and NumPy",
        arguments: [(600, 450, 4.0), (1024, 768, 3.0), (4032, 3024, 1.5)]
    )
    func ratio(_ width: Int, _ height: Int, _ least: Double) throws {
        try TemporaryFolder.with { folder in
            let path = folder("lesion.jpg").path
            _ = try Self.run("make_photo_fixtures.py", ["--one", path, "\(width)", "\(height)"])
            var ratios: [Double] = []
            let preprocessing = PhotoPreprocessing()
            let repeats = width > 2000 ? 5 : 15
            for _ in 0..<3 {
                let theirs = try #require(Double(try Self.run("photo_reference.py", [path, "--time", "\(repeats)"])))
                let ours = try Self.milliseconds(repeats) {
                    let prepared = try preprocessing.prepare(PhotoReader.read(at: path).image)
                    try #require(prepared.values.count == 3 * 380 * 380)
                }
                ratios.append(theirs / ours)
                print("\(width)×\(height): \(theirs) ms in Python, \(ours) ms here")
            }
            #expect(ratios.sorted()[1] >= least)
        }
    }
}
