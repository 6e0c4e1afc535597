internal import CDICOMParser
import NocturneSystem

/// The place of an object among those into which one multi-frame image was divided (PS3.3 C.7.6.16.2.2.4).
struct Concatenation: Sendable, Hashable {
    /// ConcatenationUID (0020,9161), which all of them have.
    let uid: String
    /// InConcatenationNumber (0020,9162), from 1.
    let number: Int
    /// InConcatenationTotalNumber (0020,9163); 0 where it is not stated.
    let total: Int

    /// Both numbers have two bytes.
    private static let numbers = 1...Int(UInt16.max)

    /// Nil for an object that is not part of a concatenation, or does not state its place.
    init?(_ header: cdicom_header) {
        uid = text(header.concatenation_uid)
        guard !uid.isEmpty, Self.numbers.contains(Int(header.concatenation_number)) else { return nil }
        number = Int(header.concatenation_number)
        total = Self.numbers.contains(Int(header.concatenation_total)) ? Int(header.concatenation_total) : 0
    }

    /// The series with an error for each volume that is part of an image of which objects are missing. A slice that is missing at
    /// the end of a stack is not seen in another way.
    /// - Parameter objects: all of the series, sorted by path.
    static func checked(_ series: [DICOMSeries], of objects: [SharedValue<DICOMObject>]) -> [DICOMSeries] {
        let parts = Dictionary(grouping: objects.filter { $0.wrappedValue.concatenation != nil }) {
            $0.wrappedValue.concatenation?.uid ?? ""
        }
        let errors = parts.compactMapValues { error(of: $0) }
        guard !errors.isEmpty else { return series }
        return series.map { series in
            let error = series.slices.lazy.compactMap { $0.object.concatenation.flatMap { errors[$0.uid] } }.first
            guard series.problem == nil, let error else { return series }
            var series = series
            (series.geometry, series.correction, series.problem) = (nil, nil, error)
            return series
        }
    }

    /// Which objects of a concatenation are missing; nil where it is complete.
    private static func error(of objects: [SharedValue<DICOMObject>]) -> DICOMReadError? {
        let places = objects.compactMap(\.wrappedValue.concatenation)
        let found = Set(places.map(\.number))
        let total = places.map { max($0.number, $0.total) }.max() ?? 0
        let missing = (0..<total).map { $0 + 1 }.filter { !found.contains($0) }
        guard !missing.isEmpty else { return nil }
        let numbers = listed(missing.map(String.init), most: 8)
        return objects[0].wrappedValue.error(
            .missingSlices,
            "\(found.count) of the \(total) objects of a concatenation (0020,9161) are there; missing are those with "
                + "InConcatenationNumber (0020,9162) \(numbers)"
        )
    }
}
