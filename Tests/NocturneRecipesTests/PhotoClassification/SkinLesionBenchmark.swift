import Foundation
import NocturneConcurrency
import NocturneInference
import NocturnePipeline
import NocturneRecipes
import NocturneTestSupport
import Testing

/// On request: NOCTURNE_PHOTO_BENCHMARK says of how many pictures.
@Suite("Throughput of classification, on request")
struct SkinLesionBenchmark {
    static let count = ProcessInfo.processInfo.environment["NOCTURNE_PHOTO_BENCHMARK"].flatMap { Int($0) } ?? 0

    @Test("A batch of many pictures, with and without reports", .enabled(if: count > 0))
    func batch() async throws {
        let samples = Checkout.folder.appendingPathComponent("Samples")
        let bench = try PhotoBench(samples.appendingPathComponent("Models/skin-lesions-demo").path)
        for index in 0..<Self.count {
            try FileManager.default.copyItem(
                at: samples.appendingPathComponent("Photos/lesions/lesion-0\(index % 8 + 1).jpg"),
                to: bench.folder("in/p\(index).jpg")
            )
        }
        let clock = ContinuousClock()
        for reports in [false, true] {
            let output = OutputFolder(bench.folder("out-\(reports)").path)
            let start = clock.now
            let processor = Self.processorSeconds()
            let outcome = try await bench.run(PhotoClassificationOptions(writesReports: reports), output: output)
            #expect(outcome.counts.completed == Self.count)
            let seconds = start.duration(to: clock.now) / .seconds(1)
            let each = 1000 / Double(Self.count)
            print(
                "reports \(reports): \(seconds * each) ms a picture, processor \((Self.processorSeconds() - processor) * each) "
                    + "ms, leased \(outcome.peakLeasedBytes >> 20) MiB, \(Self.status("VmHWM")), \(Self.status("VmRSS"))"
            )
        }
    }

    private static func processorSeconds() -> Double {
        var usage = rusage()
        getrusage(Int32(RUSAGE_SELF.rawValue), &usage)
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) * 1e-6 }
        return seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }

    private static func status(_ key: String) -> String {
        let text = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        return text.split(separator: "\n").first { $0.hasPrefix(key) }.map(String.init) ?? key
    }
}
