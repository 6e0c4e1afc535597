import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneInference
import NocturnePhotos
import NocturneRecipes
import NocturneSystem
import NocturneVolumes

/// Files and words of text.
enum FuzzTexts {
    private static let settings = PhotoMetadataSettings(sites: [
        "head/neck", "torso", PhotoMetadataSettings.unknownSite,
    ])

    static func regions(_ bytes: UnsafeRawBufferPointer) -> Bool {
        _ = try? RegionFile(Array(bytes), path: "regions.json")
        return true
    }

    static func table(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let table = try? MetadataTable(bytes: Array(bytes), path: "people.csv") else { return true }
        _ = table.assign(["a.jpg", "b/a.png", "ISIC_1.jpg", "."], settings: settings)
        return true
    }

    static func sidecar(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let path = InputFile.write(bytes, "input.json")
        guard let reading = try? MetadataSidecar.read(at: path, settings: settings) else { return true }
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
