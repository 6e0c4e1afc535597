import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneMesh
import NocturnePostprocess
import NocturneSystem

/// Runs one task for each line of input, so that `geometry.py` can alternate with the peer:
///
///     geometry-bench WIDTH HEIGHT DEPTH LABELS.raw IMAGE.raw THREADS
///
/// The files contain uint16 labels and int16 intensities, i fastest, of WIDTH × HEIGHT × DEPTH voxels of 1 mm. Lines:
/// `components CONNECTIVITY`, `surface VALUE ROUNDS`, `image PATH`, `labels PATH`. The answer is one line of JSON
/// with wall seconds, processor seconds of all threads, and the figures of the result.
@main
struct GeometryBench {
    let labels: LabelVolume
    let image: Volume
    let pool: ComputePool

    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 7, let x = Int(arguments[1]), let y = Int(arguments[2]), let z = Int(arguments[3]),
            let threads = Int(arguments[6])
        else {
            FileHandle.standardError.write(Data("see the top of GeometryBench.swift for the arguments\n".utf8))
            exit(64)
        }
        let geometry = VolumeGeometry(shape: VolumeShape(x: x, y: y, z: z), affine: .identity)
        let intensities: VoxelBuffer<Int16> = try read(arguments[5], count: geometry.shape.count)
        var floats = try VoxelBuffer<Float>(count: geometry.shape.count)
        for index in 0..<floats.count { floats[index] = Float(intensities[index]) }
        let labels: VoxelBuffer<UInt16> = try read(arguments[4], count: geometry.shape.count)
        let bench = GeometryBench(
            labels: LabelVolume(geometry: geometry, voxels: labels.frozen()),
            image: Volume(geometry: geometry, voxels: floats.frozen()),
            pool: try ComputePool(width: threads)
        )
        while let line = readLine() {
            let arguments = line.split(separator: " ").map(String.init)
            guard arguments.count > 1 else { continue }
            let answer = try await bench.pool.run { () throws -> String in try bench.answer(arguments) }
            print(answer)
            fflush(nil)
        }
    }

    private func answer(_ arguments: [String]) throws -> String {
        let scope = ComputeScope(pool: pool, flag: CancellationFlag())
        var facts: [String: Int] = [:]
        let workBefore = clock()
        let time = try ContinuousClock().measure {
            switch arguments[0] {
            case "components":
                let found = try ConnectedComponents(
                    of: labels,
                    connectivity: Connectivity(rawValue: Int(arguments[1]) ?? 26) ?? .corners,
                    scope: scope
                )
                let painted = try found.painted(scope: scope)
                facts = ["components": found.components.count, "voxels": painted.count]
            case "surface":
                var options = SurfaceOptions(smoothingRounds: Int(arguments[2]) ?? 0)
                options.restoresVolume = options.smoothingRounds > 0
                let mesh = try SurfaceExtractor.surface(
                    of: UInt16(arguments[1]) ?? 1,
                    in: labels,
                    options: options,
                    scope: scope
                )
                facts = ["vertices": mesh.vertices.count, "triangles": mesh.triangles.count]
            case "image":
                try NIfTIWriter.writeVolume(image, as: .int16, to: arguments[1], scope: scope)
            default:
                try NIfTIWriter.writeLabels(
                    labels,
                    names: [],
                    forms: nil,
                    to: arguments[1],
                    compressed: true,
                    scope: scope
                )
            }
        }
        let seconds = Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18
        let work = Double(clock() - workBefore) / Double(CLOCKS_PER_SEC)
        let fields = facts.sorted { $0.key < $1.key }.map { ", \"\($0.key)\": \($0.value)" }.joined()
        return "{\"seconds\": \(seconds), \"processorSeconds\": \(work)\(fields)}"
    }

    /// A file of so many numbers in memory order.
    private static func read<Element>(_ path: String, count: Int) throws -> VoxelBuffer<Element> {
        let data = try Data(contentsOf: URL(fileURLWithPath: path), options: .mappedIfSafe)
        guard data.count == count * MemoryLayout<Element>.stride else {
            throw CocoaError(.fileReadCorruptFile, userInfo: [NSFilePathErrorKey: path])
        }
        var buffer = try VoxelBuffer<Element>(count: count)
        buffer.withUnsafeMutableBufferPointer { target in
            _ = data.copyBytes(to: UnsafeMutableRawBufferPointer(target))
        }
        return buffer
    }
}
