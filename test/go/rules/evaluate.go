package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
)

// How often the rules are evaluated, and how far apart the samples of a series are.
const interval = time.Minute

type testCase struct {
	Name string `json:"name"`
	// Series maps a series to its samples, one a minute, in the notation of promtool: `0+1x10`, `_x5`, `stale`.
	Series map[string]string `json:"series"`
	// Minutes is when it is asked which alerts fire, counted from the first sample.
	Minutes int `json:"minutes"`
}

type outcome struct {
	Name   string  `json:"name"`
	Firing []alert `json:"firing"`
}

type alert struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// evaluate runs all alerts of the groups, minute by minute, as Prometheus does.
func evaluate(promql parser.Parser, groups *rulefmt.RuleGroups, one testCase) (result outcome, err error) {
	result = outcome{Name: one.Name, Firing: []alert{}}
	suite, err := promqltest.NewLazyLoader(loading(one.Series), promqltest.LazyLoaderOpts{
		EnableAtModifier: true, EnableNegativeOffset: true,
	})
	if err != nil {
		return result, err
	}
	defer func() {
		if closing := suite.Close(); err == nil {
			err = closing
		}
	}()
	alerts, err := alertsOf(promql, groups)
	if err != nil {
		return result, err
	}
	query := rules.EngineQueryFunc(suite.QueryEngine(), suite.Storage())
	for minute := 0; minute <= one.Minutes; minute++ {
		at := time.Unix(0, 0).UTC().Add(time.Duration(minute) * interval)
		suite.WithSamplesTill(at, func(loading error) {
			if err = loading; err != nil {
				return
			}
			for _, rule := range alerts {
				if _, err = rule.Eval(context.Background(), 0, at, query, &url.URL{}, 0); err != nil {
					err = fmt.Errorf("%s: %w", rule.Name(), err)
					return
				}
			}
		})
		if err != nil {
			return result, err
		}
	}
	for _, rule := range alerts {
		for _, active := range rule.ActiveAlerts() {
			if active.State == rules.StateFiring {
				result.Firing = append(result.Firing, alert{active.Labels.Map(), active.Annotations.Map()})
			}
		}
	}
	return result, nil
}

func loading(series map[string]string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "load %s\n", model.Duration(interval))
	for _, name := range slices.Sorted(maps.Keys(series)) {
		fmt.Fprintf(&text, "  %s %s\n", name, series[name])
	}
	return text.String()
}

func alertsOf(promql parser.Parser, groups *rulefmt.RuleGroups) ([]*rules.AlertingRule, error) {
	var result []*rules.AlertingRule
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			if rule.Alert == "" {
				return nil, fmt.Errorf("group %s: only alerts are evaluated here, %s is none", group.Name, rule.Record)
			}
			expr, err := promql.ParseExpr(rule.Expr)
			if err != nil {
				return nil, err
			}
			result = append(result, rules.NewAlertingRule(
				rule.Alert, expr, time.Duration(rule.For), time.Duration(rule.KeepFiringFor),
				labels.FromMap(rule.Labels), labels.FromMap(rule.Annotations), labels.EmptyLabels(), "",
				true, slog.New(slog.DiscardHandler),
			))
		}
	}
	return result, nil
}
