import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneNumerics
import NocturneSystem

/// One timed run of a kernel on values from a file, called by `resampling.py`.
///
///     kernel-bench resample ORDER nx ny nz mx my mz THREADS INPUT OUTPUT
///     kernel-bench label single|half CLASSES nx ny nz mx my mz THREADS INPUT OUTPUT
///
/// Files contain little-endian numbers, x fastest: float32 images and `[class][z][y][x]` logits in, float32 images or
/// uint16 labels out. Prints the seconds of the kernel, its processor seconds, and the peak memory of the process in
/// KiB.
@main
struct KernelBench {
    static func main() async throws {
        var arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.count >= 11 else {
            print("usage: see the head of KernelBench.swift")
            exit(2)
        }
        let output = URL(fileURLWithPath: arguments.removeLast())
        let input = try values(of: URL(fileURLWithPath: arguments.removeLast()))
        let numbers = arguments.compactMap { Int($0) }
        let threads = numbers[numbers.count - 1]
        let shapes = Array(numbers.dropLast().suffix(6))
        let source = VolumeShape(x: shapes[0], y: shapes[1], z: shapes[2])
        let target = VolumeShape(x: shapes[3], y: shapes[4], z: shapes[5])
        let pool = try ComputePool(width: threads)
        defer { pool.shutdown() }
        let isLabelling = arguments[0] == "label"
        let order = ResamplingRule.Order(rawValue: numbers[0]) ?? .cubic
        let rounding: SliceLabeler.Rounding = arguments[1] == "half" ? .half : .single
        let (bytes, seconds, processorSeconds) = try await pool.run {
            let scope = ComputeScope(pool: pool, flag: CancellationFlag())
            return isLabelling
                ? try label(input, numbers[0], source, target, rounding, scope)
                : try resample(input, order, source, target, scope)
        }
        try bytes.write(to: output)
        print(seconds, processorSeconds, usage().peakKiB)
    }

    static func usage() -> (seconds: Double, peakKiB: Int) {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) * 1e-6 }
        return (seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_maxrss)
    }

    static func resample(
        _ input: FrozenVoxels<Float>,
        _ order: ResamplingRule.Order,
        _ source: VolumeShape,
        _ target: VolumeShape,
        _ scope: ComputeScope
    ) throws -> (Data, Double, Double) {
        let (start, begin) = (ContinuousClock.now, usage().seconds)
        let resampler = try ImageResampler(
            view: VoxelView(stored: source),
            target: target,
            rule: ResamplingRule(order: order)
        )
        let result = try resampler.resample(input, scope: scope)
        let (seconds, work) = ((ContinuousClock.now - start) / .seconds(1), usage().seconds - begin)
        return (result.withUnsafeBufferPointer { Data(buffer: $0) }, seconds, work)
    }

    static func label(
        _ input: FrozenVoxels<Float>,
        _ classes: Int,
        _ model: VolumeShape,
        _ native: VolumeShape,
        _ rounding: SliceLabeler.Rounding,
        _ scope: ComputeScope
    ) throws -> (Data, Double, Double) {
        // Planes as the accumulator gives them.
        var planes = try VoxelBuffer<Float>(count: input.count)
        for z in 0..<model.z {
            for c in 0..<classes {
                for place in 0..<model.sliceCount {
                    planes[(z * classes + c) * model.sliceCount + place] =
                        input[
                            (c * model.z + z) * model.sliceCount + place
                        ]
                }
            }
        }
        let (start, begin) = (ContinuousClock.now, usage().seconds)
        var labels = try VoxelBuffer<UInt16>(count: native.count)
        let member = try EnsemblePlanes.Member(model: model, box: native, rule: .logits, separateAxis: nil)
        var labeler = try SliceLabeler(
            [member],
            native: native,
            box: VoxelBox(all: native),
            decision: .largestLogit(labels: (0..<classes).map { UInt16($0) }),
            rounding: rounding
        )
        let planeCount = classes * model.sliceCount
        var tally = ConfidenceTally()
        try planes.withUnsafeBufferPointer { planes in
            while let z = labeler.planes.neededPlane(of: 0) {
                let plane = planes[z * planeCount..<(z + 1) * planeCount]
                try labeler.planes.push(UnsafeBufferPointer(rebasing: plane), of: 0)
                while labeler.planes.isComplete {
                    try labeler.labelSlice(into: &labels, tally: &tally, scope: scope)
                }
            }
        }
        let (seconds, work) = ((ContinuousClock.now - start) / .seconds(1), usage().seconds - begin)
        return (labels.withUnsafeBufferPointer { Data(buffer: $0) }, seconds, work)
    }

    static func values(of file: URL) throws -> FrozenVoxels<Float> {
        let data = try Data(contentsOf: file, options: .alwaysMapped)
        var buffer = try VoxelBuffer<Float>(count: data.count / 4)
        buffer.withUnsafeMutableBufferPointer { _ = data.copyBytes(to: UnsafeMutableRawBufferPointer($0)) }
        return buffer.frozen()
    }
}
