import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturnePictures
import NocturneSystem

/// Draws the pictures of a volume and prints the times:
///
///     picture-bench THREADS ROUNDS FOLDER [IMAGE.nii LABELS.nii]
///
/// Without files, of a synthetic CT of 512×512×300 voxels with six labels. The pictures remain in the folder. One line of
/// JSON: medians of the rounds in seconds.
@main
struct PictureBench {
    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard [3, 5].contains(arguments.count), let threads = Int(arguments[0]), let rounds = Int(arguments[1]) else {
            FileHandle.standardError.write(Data("see the top of PictureBench.swift for the arguments\n".utf8))
            exit(64)
        }
        let files = arguments.count == 5 ? (arguments[3], arguments[4]) : nil
        let pool = try ComputePool(width: threads)
        let answer = try await pool.run { () throws -> String in
            let scope = ComputeScope(pool: pool, flag: CancellationFlag())
            let (volume, labels) = try files.map { try read($0.0, $0.1, scope) } ?? synthetic(scope)
            return try measure(volume, labels, rounds: rounds, folder: arguments[2], scope)
        }
        print(answer)
    }

    private static func measure(
        _ volume: Volume,
        _ labels: LabelVolume,
        rounds: Int,
        folder: String,
        _ scope: ComputeScope
    ) throws -> String {
        let preview = Preview(
            volume: volume,
            labels: labels,
            colors: colors(of: labels),
            window: PictureWindow(center: 40, width: 400) ?? .percentiles,
            labelled: box(of: labels)
        )
        var drawing: [Double] = []
        var writing: [Double] = []
        var strips: [Double] = []
        for _ in 0..<rounds {
            var image = RGBImage(width: 0, height: 0)
            drawing.append(try seconds { image = try preview.drawing(scope: scope).image })
            writing.append(try seconds { try PNGWriter.write(image, to: folder + "/preview.png") })
            let strip = SliceStrip(preview)
            let writer = AnimatedPNGWriter(
                width: strip.width,
                height: strip.height,
                palette: strip.palette,
                frameCount: strip.frameCount,
                millisecondsPerFrame: 80
            )
            strips.append(
                try seconds {
                    try writer.write(to: folder + "/slices.png", cover: strip.cover(), scope: scope) { strip.frame($0) }
                }
            )
        }
        let shape = volume.geometry.shape
        return "{\"shape\": \"\(shape)\", \"threads\": \(scope.width), \"preview\": \(median(drawing)), "
            + "\"writing\": \(median(writing)), \"strip\": \(median(strips))}"
    }

    private static func seconds(_ body: () throws -> Void) rethrows -> Double {
        let time = try ContinuousClock().measure(body)
        return Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18
    }

    private static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

    private static func read(_ image: String, _ labels: String, _ scope: ComputeScope) throws -> (Volume, LabelVolume) {
        let volume = try VolumeFileReader.readVolume(at: image, scope: scope).volume
        let labels = try VolumeFileReader.readLabels(at: labels, scope: scope).labels
        return (volume, LabelVolume(geometry: volume.geometry, voxels: labels.voxels))
    }

    /// A body with a spine, ribs and organs, and noise.
    private static func synthetic(_ scope: ComputeScope) throws -> (Volume, LabelVolume) {
        let shape = VolumeShape(x: 512, y: 512, z: 300)
        var image = try VoxelBuffer<Float>(count: shape.count)
        var labels = try VoxelBuffer<UInt16>(count: shape.count)
        // Centre and half axes in voxels, and the value, of ellipsoids.
        let parts: [(SIMD3<Float>, SIMD3<Float>, Float)] = [
            ([330, 270, 190], [90, 80, 60], 60), ([180, 300, 190], [45, 40, 45], 50),
            ([320, 340, 120], [28, 25, 50], 35), ([190, 340, 120], [28, 25, 50], 35),
            ([256, 370, 150], [30, 30, 149], 400), ([256, 230, 60], [50, 40, 40], 10),
        ]
        try image.withUnsafeMutableBufferPointer { image in
            try labels.withUnsafeMutableBufferPointer { labels in
                nonisolated(unsafe) let (image, labels) = (image, labels)
                try scope.forEach(shape.z) { k in
                    var noise = UInt32(k &+ 1)
                    for place in 0..<shape.sliceCount {
                        let point = SIMD3(Float(place % shape.x), Float(place / shape.x), Float(k))
                        noise = noise &* 1_664_525 &+ 1_013_904_223
                        let body = (point - SIMD3(256, 270, 150)) / SIMD3(220, 150, 400)
                        var value: Float = (body * body).sum() < 1 ? 20 : -1000
                        var label: UInt16 = 0
                        for (index, part) in parts.enumerated() {
                            let away = (point - part.0) / part.1
                            if (away * away).sum() < 1 { (value, label) = (part.2, UInt16(index + 1)) }
                        }
                        image[k * shape.sliceCount + place] = value + Float(noise >> 24) / 8 - 16
                        labels[k * shape.sliceCount + place] = label
                    }
                }
            }
        }
        let geometry = VolumeGeometry(
            shape: shape,
            affine: Affine(
                columnI: SIMD3(-0.8, 0, 0),
                columnJ: SIMD3(0, -0.8, 0),
                columnK: SIMD3(0, 0, 1.5),
                translation: SIMD3(200, 200, -200)
            )
        )
        return (
            Volume(geometry: geometry, voxels: image.frozen()), LabelVolume(geometry: geometry, voxels: labels.frozen())
        )
    }

    private static func colors(of labels: LabelVolume) -> [UInt16: SIMD3<UInt8>] {
        let okabe: [SIMD3<UInt8>] = [
            SIMD3(230, 159, 0), SIMD3(86, 180, 233), SIMD3(0, 158, 115), SIMD3(240, 228, 66), SIMD3(0, 114, 178),
            SIMD3(213, 94, 0), SIMD3(204, 121, 167),
        ]
        return Dictionary(uniqueKeysWithValues: (1...255).map { (UInt16($0), okabe[($0 - 1) % okabe.count]) })
    }

    private static func box(of labels: LabelVolume) -> VoxelBox? {
        let shape = labels.geometry.shape
        var lower = SIMD3(Int.max, Int.max, Int.max)
        var upper = SIMD3(0, 0, 0)
        labels.voxels.withUnsafeBufferPointer { voxels in
            for place in voxels.indices where voxels[place] != 0 {
                let index = SIMD3(place % shape.x, place / shape.x % shape.y, place / shape.sliceCount)
                lower = pointwiseMin(lower, index)
                upper = pointwiseMax(upper, index &+ 1)
            }
        }
        return upper.x > 0 ? VoxelBox(lower: lower, upper: upper) : nil
    }
}
