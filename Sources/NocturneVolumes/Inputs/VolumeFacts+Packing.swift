import Foundation
import NocturneCore
import NocturneSystem

extension VolumeFacts {
    /// The places of the fields.
    private enum Field {
        static let (format, shape, numbers, modality, series, window, notes, time, slices) = (0, 1, 2, 3, 4, 5, 6, 7, 8)
    }

    /// What is known of a volume as one buffer, for ``FileBackedList``.
    var packed: [UInt8] {
        let affine = geometry.affine
        let vectors = [affine.columnI, affine.columnJ, affine.columnK, affine.translation, spacing]
        let shape = [geometry.shape.x, geometry.shape.y, geometry.shape.z].map { UInt64(truncatingIfNeeded: $0) }
        let fields: [[UInt8]] = [
            Array(format.rawValue.utf8), Self.bytes(shape),
            Self.bytes(vectors.flatMap { [$0.x, $0.y, $0.z] }.map(\.bitPattern)), Self.bytes(modality),
            Self.bytes(seriesInstanceUID),
            Self.bytes(window.map { [$0.lower.bitPattern, $0.upper.bitPattern] } ?? []),
            Array(PackedFields(list: notes).packed), Self.json(timePoint), Self.json(series),
        ]
        return Array(PackedFields(fields).packed)
    }

    /// - Parameter packed: what ``packed`` has given.
    init(packed: ArraySlice<UInt8>) {
        let fields = PackedFields(packed: packed)
        let shape = Self.numbers(fields[Field.shape]).map { Int(truncatingIfNeeded: $0) }
        let numbers = Self.numbers(fields[Field.numbers]).map { Double(bitPattern: $0) }
        func vector(_ place: Int) -> SIMD3<Double> {
            SIMD3(numbers[3 * place], numbers[3 * place + 1], numbers[3 * place + 2])
        }
        self.init(
            format: VolumeSource.Format(rawValue: fields[text: Field.format]) ?? .nifti,
            geometry: VolumeGeometry(
                shape: VolumeShape(x: shape[0], y: shape[1], z: shape[2]),
                affine: Affine(columnI: vector(0), columnJ: vector(1), columnK: vector(2), translation: vector(3))
            ),
            spacing: vector(4)
        )
        modality = fields[list: Field.modality].first
        seriesInstanceUID = fields[list: Field.series].first
        let bounds = Self.numbers(fields[Field.window]).map { Double(bitPattern: $0) }
        window = bounds.isEmpty ? nil : HeaderWindow(lower: bounds[0], upper: bounds[1])
        notes = fields[list: Field.notes]
        timePoint = Self.value(fields[Field.time])
        series = Self.value(fields[Field.slices])
    }

    private static func bytes(_ text: String?) -> [UInt8] {
        Array(PackedFields(list: text.map { [$0] } ?? []).packed)
    }

    private static func bytes(_ numbers: [UInt64]) -> [UInt8] {
        numbers.withUnsafeBytes { Array($0) }
    }

    private static func numbers(_ bytes: ArraySlice<UInt8>) -> [UInt64] {
        bytes.withUnsafeBytes { bytes in
            (0..<bytes.count / 8).map { bytes.loadUnaligned(fromByteOffset: 8 * $0, as: UInt64.self) }
        }
    }

    /// Few volumes have such parts.
    private static func json(_ value: (some Encodable)?) -> [UInt8] {
        value.flatMap { try? JSONEncoder().encode($0) }.map(Array.init) ?? []
    }

    private static func value<Value: Decodable>(_ bytes: ArraySlice<UInt8>) -> Value? {
        bytes.isEmpty ? nil : try? JSONDecoder().decode(Value.self, from: Data(bytes))
    }
}
