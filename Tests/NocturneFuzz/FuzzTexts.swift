import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneInference
import NocturneOutput
import NocturnePhotos
import NocturneRadiomics
import NocturneRecipes
import NocturneSystem
import NocturneVolumes

/// Files and words of text.
enum FuzzTexts {
    private static let settings = BodySites([
        "head/neck", "torso", BodySites.unknown,
    ])

    static func regions(_ bytes: UnsafeRawBufferPointer) -> Bool {
        _ = try? RegionFile(Array(bytes), path: "regions.json")
        return true
    }

    /// Settings, and the features of a small region with them: whatever can be set ends, with a value or a reason.
    static func radiomics(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let settings = try? RadiomicsSettings(parsing: Array(bytes)) else { return true }
        let geometry = VolumeGeometry(shape: VolumeShape(x: 5, y: 4, z: 3), affine: .scaling(SIMD3(1, 2, 3)))
        guard let intensities = try? FrozenVoxels((0..<60).map { Float($0 * 37 % 101) }),
            let mask = try? FrozenVoxels((0..<60).map { UInt16($0 % 7 == 0 ? 0 : 1) }),
            let extractor = try? RegionExtractor(
                image: Volume(geometry: geometry, voxels: intensities),
                labels: LabelVolume(geometry: geometry, voxels: mask),
                settings: settings,
                scope: .serial()
            ),
            let region = try? extractor.region(of: 1),
            let values = try? Radiomics.values(of: region, settings: settings, scope: .serial())
        else { return true }
        precondition(values.allSatisfy { ($0.value == nil) != ($0.absence == nil) }, "a value or a reason")
        return true
    }

    static func table(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let table = try? MetadataTable(bytes: Array(bytes), path: "people.csv") else { return true }
        _ = table.assign(["a.jpg", "b/a.png", "ISIC_1.jpg", "."], sites: settings)
        return true
    }

    static func sidecar(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let path = InputFile.write(bytes, "input.json")
        guard let reading = try? ClinicalMetadata.Reading.sidecar(at: path, sites: settings) else { return true }
        _ = reading.metadata.vector(settings)
        return true
    }

    /// What runs leave in their folders and read again.
    static func records(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let data = Data(bytes)
        let decoder = JSONDecoder()
        _ = try? decoder.decode(PhotoClassificationResult.self, from: data)
        _ = try? decoder.decode(BatchDescription.self, from: data)
        _ = try? decoder.decode(BatchEvent.self, from: data)
        return true
    }

    /// Values of options and variables of the environment.
    static func words(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let text = String(decoding: bytes, as: UTF8.self)
        if let window = WorkingHours.Window(text) {
            let hours = WorkingHours(window: window, finishBy: window.until)
            precondition((0...86_400).contains(hours.secondsUntilOpen(at: 5)), "a day has 24 hours")
        }
        _ = WorkingHours.TimeOfDay(text)
        if let count = ByteCount(text) { precondition(count.bytes > 0, "\(text) is \(count.bytes) bytes") }
        if let color = LabelColor(text) { precondition(color.description == text.lowercased(), "\(text) is \(color)") }
        if let digest = ContentDigest(hex: text) { precondition(digest.hex == text.lowercased(), "\(text)") }
        // Only such words as are read and then not armed.
        if !text.contains("count"), !text.contains("+") { try? FaultInjection.arm(text, isRestart: true) }
        return true
    }
}
