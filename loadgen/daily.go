package loadgen

import "time"

// daily is a day in which more changes at some hours than at others: it bends a schedule's
// time, so that a schedule which knows nothing of hours has them. Over whole days nothing
// is sped up or slowed down.
type daily struct {
	hours [24]int64         // weights, the mean of which is 100
	ends  [25]time.Duration // of hours, in bent time; ends[0] is 0
}

// newsDay follows the days of newsrooms: quiet at night, most in the late morning and the
// afternoon. The weights come to 2400.
var newsDay = newDaily([24]int64{40, 30, 25, 25, 30, 45, 70, 100, 135, 155, 165, 160, 150, 150, 155, 155, 150, 140, 125, 110, 95, 80, 65, 45})

func newDaily(hours [24]int64) *daily {
	d := &daily{hours: hours}
	for h, weight := range hours {
		d.ends[h+1] = d.ends[h] + time.Duration(weight)*time.Hour/100
	}
	return d
}

const day = 24 * time.Hour

// bend returns the bent time; d may be nil.
func (d *daily) bend(t time.Duration) time.Duration {
	if d == nil {
		return t
	}
	days := time.Duration(floorDiv(int64(t), int64(day)))
	within := t - days*day
	hour := within / time.Hour
	return days*day + d.ends[hour] + (within-hour*time.Hour)*time.Duration(d.hours[hour])/100
}

// straight returns the first time whose bent one is at or after t: the inverse of bend.
func (d *daily) straight(t time.Duration) time.Duration {
	if d == nil {
		return t
	}
	days := time.Duration(floorDiv(int64(t), int64(day)))
	within, hour := t-days*day, 0
	for within > d.ends[hour+1] {
		hour++
	}
	weight := time.Duration(d.hours[hour])
	return days*day + time.Duration(hour)*time.Hour + ((within-d.ends[hour])*100+weight-1)/weight
}
